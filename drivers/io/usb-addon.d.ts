/** The addons of the package `usb`, which bring no types of their own: what its script would hand on. */
declare module "@node-usb/usb-linux-x64-gnu" {
  export * from "usb/index.js";
}
declare module "@node-usb/usb-linux-arm64-gnu" {
  export * from "usb/index.js";
}
