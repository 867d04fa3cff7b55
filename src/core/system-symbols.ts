/** Symbols of systems, for tiles without a picture: lines in a square of 24 units, as `icon` takes them. */

const byCategory: Readonly<Record<string, string>> = {
  Console:
    "M8 8h8a5 5 0 0 1 5 5c0 3-1 4-2.5 4S16 15.5 15 15H9c-1 .5-2 2-3.5 2S3 16 3 13a5 5 0 0 1 5-5M8 10v3M6.5 11.5h3M15 11.5h.01M17 12.5h.01",
  Handheld:
    "M7.5 3h9a1 1 0 0 1 1 1v14a3 3 0 0 1-3 3h-7a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1M9.5 6h5v5h-5zM9 16h3M10.5 14.5v3M15 16h.01",
  Computer: "M5 4h14a1 1 0 0 1 1 1v9H4V5a1 1 0 0 1 1-1M4 14l-1.5 5h19L20 14M10 16.5h4",
  Arcade: "M12 3.5a2.5 2.5 0 1 1 0 5a2.5 2.5 0 1 1 0-5M12 8.5V15M6 15h12l1.5 5h-15zM16 17.5h.01",
};
const music =
  "M9 18V5.5l10-2V16M9 18a2.5 2.5 0 1 1-5 0a2.5 2.5 0 1 1 5 0M19 16a2.5 2.5 0 1 1-5 0a2.5 2.5 0 1 1 5 0";
const film = "M4 5h16v14H4zM8 5v14M16 5v14M4 9.7h4M4 14.3h4M16 9.7h4M16 14.3h4";
const picture = "M4 5h16v14H4zM4 16l5-5 4 4 2.5-2.5L20 17M15 9h.01";
const other = "M5 5h5.5v5.5H5zM13.5 5H19v5.5h-5.5zM5 13.5h5.5V19H5zM13.5 13.5H19V19h-5.5z";

export function symbolOf(systemId: string, category: string | undefined): string {
  if (category !== "Media") return byCategory[category ?? ""] ?? other;
  if (systemId === "Image") return picture;
  return /^audio|music(?!video)|podcast/i.test(systemId) ? music : film;
}
