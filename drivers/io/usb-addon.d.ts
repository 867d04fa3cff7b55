/** The addons of the package `usb`, which have no types of their own: the exports of its script. */
declare module "@node-usb/usb-linux-x64-gnu" {
  export * from "usb/index.js";
}
declare module "@node-usb/usb-linux-arm64-gnu" {
  export * from "usb/index.js";
}
