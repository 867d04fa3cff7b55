/** Files of packages that the compiled program embeds: an import of one gives the path of the file. */
declare module "*.ttf" {
  const path: string;
  export = path;
}

declare module "*.wasm" {
  const path: string;
  export = path;
}
