/** The addons of the package `usb` have no types of their own. They export the same as its script. */
declare module "@node-usb/usb-linux-x64-gnu" {
  export * from "usb/index.js";
}
declare module "@node-usb/usb-linux-arm64-gnu" {
  export * from "usb/index.js";
}
