/** MIFARE Classic (NXP MF1S50YYX, MF1S70YYX): commands of its readers. */
export const classicCommands = { authenticateA: 0x60, authenticateB: 0x61 } as const;
