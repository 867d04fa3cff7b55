/** Virtual keyboards and gamepads: what one is, and what it is made to do. */

/** A device of keys and buttons alone, each by its number in linux/input-event-codes.h. */
export interface InputDeviceShape {
  /** At most 79 bytes, as programs list it. */
  readonly name: string;
  /** Tells our devices apart, 0 to 65535. */
  readonly product: number;
  readonly keys: readonly number[];
}

export interface InputDevice {
  /** Presses, or lets go of, these keys one after another. Throws `ServiceError("failed")` where the device is gone. */
  turn(codes: readonly number[], isDown: boolean): void;
  /** Takes the device away; keys that are down go up. A second call does nothing. */
  close(): void;
}

/**
 * Makes a device, and resolves once programs had the time to take it up. Rejects with `ServiceError("failed")` and a
 * sentence on what is missing, and with the signal's reason where that aborts; then there is no device.
 */
export type OpenInputDevice = (shape: InputDeviceShape, signal: AbortSignal) => Promise<InputDevice>;

export type InputKind = "keyboard" | "gamepad";

export type InputStep =
  | { readonly kind: "down" | "up"; readonly codes: readonly number[] }
  | { readonly kind: "wait"; readonly ms: number };
