import { expect, test } from "bun:test";
import { rootCertificates } from "node:tls";
import { makeCertificate } from "../../../src/system/certificate.ts";
import { besideSystem, checkTlsFiles } from "../../../src/system/tls-files.ts";

const names = { ca: "fleet.ca_file", cert: "fleet.certificate_file", key: "fleet.key_file" };
const made = () =>
  makeCertificate({
    commonName: "hall-1",
    names: ["hall-1"],
    addresses: [],
    notBefore: new Date("2026-01-01"),
    notAfter: new Date("2036-01-01"),
  });

test("files that fit are taken", () => {
  const { certificatePem, keyPem } = made();
  checkTlsFiles({ ca: certificatePem, cert: certificatePem, key: keyPem }, names);
  checkTlsFiles({ ca: undefined, cert: undefined, key: undefined }, names);
});

test("a file with other content was reported as a typo in the address", () => {
  const { certificatePem, keyPem } = made();
  expect(() => checkTlsFiles({ ca: "MIIB" }, names)).toThrow(
    'fleet.ca_file names a file without a certificate in PEM ("-----BEGIN CERTIFICATE-----")',
  );
  expect(() => checkTlsFiles({ cert: keyPem, key: keyPem }, names)).toThrow(
    "fleet.certificate_file names a file without a certificate",
  );
  expect(() => checkTlsFiles({ cert: certificatePem, key: certificatePem }, names)).toThrow(
    "fleet.key_file names a file without a private key in PEM that needs no passphrase",
  );
});

test("the key of another certificate was reported as an error of OpenSSL without a setting", () => {
  expect(() => checkTlsFiles({ cert: made().certificatePem, key: made().keyPem }, names)).toThrow(
    "the key of fleet.key_file does not belong to the certificate of fleet.certificate_file",
  );
});

test("an authority of the fleet shut out web servers with a certificate of a public one", () => {
  const { certificatePem } = made();
  const { ca, ...rest } = besideSystem({ ca: certificatePem, cert: "own" });
  expect(ca).toEqual([...rootCertificates, certificatePem]);
  expect(rest).toEqual({ cert: "own" });
  expect(besideSystem({ cert: "own" })).toEqual({ cert: "own" });
});
