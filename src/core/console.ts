/** The machine's own console, as far as the service changes it. */

/** What is on the screen: the kernel's text, or only what a program draws. */
export type ConsoleMode = "text" | "graphics";

/** Switches the terminal at `path`; false where it is none, or not for this user. */
export type SetConsole = (path: string, mode: ConsoleMode) => boolean;
