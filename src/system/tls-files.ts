/**
 * The PEM files of a connection with TLS, which settings name. They are checked before the connection, because the errors of a
 * TLS library name neither the file nor the setting.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { rootCertificates } from "node:tls";

/** The texts of PEM files. If `ca` is absent, the authorities of the system are used. */
export interface TlsFiles {
  readonly ca?: string | string[];
  readonly cert?: string;
  readonly key?: string;
}

/** The settings that name these files. */
type Names = Readonly<Record<"ca" | "cert" | "key", string>>;

/**
 * Throws an error with a sentence that names the setting, if a file has the wrong content, or if the key belongs to
 * another certificate.
 */
export function checkTlsFiles(
  { ca, cert, key }: { readonly [File in keyof Names]?: string | undefined },
  names: Names,
): void {
  if (ca !== undefined) certificateIn(ca, names.ca);
  if (cert === undefined || key === undefined) return;
  const certificate = certificateIn(cert, names.cert);
  if (!certificate.checkPrivateKey(privateKeyIn(key, names.key)))
    throw new Error(`the key of ${names.key} does not belong to the certificate of ${names.cert}`);
}

/** The first certificate of the file. */
function certificateIn(text: string, setting: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch (error) {
    throw new Error(`${setting} names a file without a certificate in PEM ("-----BEGIN CERTIFICATE-----")`, {
      cause: error,
    });
  }
}

function privateKeyIn(text: string, setting: string) {
  try {
    return createPrivateKey(text);
  } catch (error) {
    throw new Error(`${setting} names a file without a private key in PEM that needs no passphrase`, {
      cause: error,
    });
  }
}

/**
 * The authorities for a server whose content is signed. Any known authority is then good enough, so `ca` is added to the
 * authorities of the system. A deck with the authority of its fleet may then fetch from any web server.
 */
export function besideSystem(tls: TlsFiles): TlsFiles {
  return tls.ca === undefined ? tls : { ...tls, ca: [...rootCertificates, tls.ca].flat() };
}
