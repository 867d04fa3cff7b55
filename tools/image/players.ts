/** The players in the image's tree: mpv, RetroArch with its cores, and the files that both open by name while they run. */
import { cp, mkdir, readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { libraryFolder, putLibrariesOf, putPrograms } from "./programs.ts";

const programs = ["usr/bin/mpv", "usr/bin/retroarch", "usr/bin/aplay", "usr/bin/alsaloop", "usr/bin/amixer"];

/** Libraries that libglvnd and mesa open by name, so no program names them. The display's driver is one of the last two. */
const graphics = ["libEGL_mesa.so.0", "dri/virtio_gpu_dri.so", "dri/kms_swrast_dri.so"];

/** The sound device of headphones by Bluetooth, which alsa-lib opens by its type. */
const soundPlugin = "alsa-lib/libasound_module_pcm_bluealsa.so";

/** Files that libraries read: EGL's vendors, sound devices, a font for mpv's messages and subtitles, names of keys. */
const data = [
  "usr/share/glvnd/egl_vendor.d",
  "usr/share/drirc.d",
  "usr/share/alsa",
  "usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
  "usr/share/X11/xkb",
  "etc/fonts",
];

const coresFrom = join(libraryFolder, "libretro");
const infoFrom = "usr/share/libretro/info";

/** True if only players need this file of an image that Buildroot made. No script reads it, and neither does the service. */
export function isOfPlayers(path: string): boolean {
  return /^usr\/(?:bin\/(?:mpv|retroarch)$|lib\/(?:libretro\/|dri\/|gbm\/|lib(?:av|sw|ass|harfbuzz|fribidi|SDL2|gallium|EGL|GLES|gbm)[^/]*$)|share\/fonts\/)/.test(
    path,
  );
}

/**
 * Copies all files of the players from the packages' tree. Cores and their info files go where Buildroot's packages put them.
 */
export async function putPlayers(tree: string, target: string): Promise<void> {
  await putPrograms(tree, target, programs);
  for (const folder of ["dri", "alsa-lib"])
    await mkdir(join(target, libraryFolder, folder), { recursive: true });
  for (const name of [...graphics, soundPlugin])
    await putLibrary(join(libraryFolder, name), { tree, target });
  for (const path of data)
    await cp(join(tree, path), join(target, path), { recursive: true, verbatimSymlinks: true });
  const cores = await readdir(join(tree, coresFrom));
  await mkdir(join(target, "usr/lib/libretro"), { recursive: true });
  await mkdir(join(target, infoFrom), { recursive: true });
  for (const core of cores.filter((file) => file.endsWith(".so"))) {
    await putLibrary(join(coresFrom, core), { tree, target, to: join("usr/lib/libretro", core) });
    const info = `${basename(core, ".so")}.info`;
    await cp(join(tree, infoFrom, info), join(target, infoFrom, info));
  }
}

async function putLibrary(
  path: string,
  { tree, target, to = path }: { readonly tree: string; readonly target: string; readonly to?: string },
): Promise<void> {
  await cp(join(tree, path), join(target, to), { dereference: true });
  await putLibrariesOf(join(tree, path), tree, target);
}
