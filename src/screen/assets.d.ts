/** Files of packages that the compiled program embeds: an import of a file gives its path. */
declare module "*.ttf" {
  const path: string;
  export = path;
}

declare module "*.wasm" {
  const path: string;
  export = path;
}
