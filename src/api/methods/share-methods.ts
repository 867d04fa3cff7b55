/** The share of the media folder for PCs on the SD image. Its password is written, and never read back. */
import { shareReport, shareRequest } from "../../core/share-shapes.ts";
import { method } from "../method.ts";

const changes = () => "the share for PCs";

export const shareMethods = [
  method({
    name: "share",
    right: "own",
    docs: "The share of the media folder for PCs (SMB) on the SD image; `none` elsewhere. It is `off` until a password is set. `starting` takes some seconds. With the fault `failed` the server does not run, and `health` reports that. Windows opens it as `\\\\host\\media`, other systems as `smb://host.local/media`, with any user name.",
    result: shareReport,
    run: ({ share }) => share.report(),
  }),
  method({
    name: "share.set",
    right: "own",
    docs: "Switches the share on with this password of 8 to 63 characters, or changes its password. Connections of PCs end. Only a hash of the password is stored, and only root reads it. It answers at once; `share` has the result within half a minute.",
    params: shareRequest,
    changes,
    errors: ["failed"],
    run: ({ share }, request) => share.set(request),
  }),
  method({
    name: "share.remove",
    right: "own",
    docs: "Switches the share off, and removes its password. Connections of PCs end.",
    changes,
    errors: ["failed"],
    run: ({ share }) => share.remove(),
  }),
] as const;
