/**
 * Keys, buttons and knobs by the names of linux/input-event-codes.h, which `evtest` and device trees use, such as
 * `KEY_VOLUMEUP` and `BTN_START`. A knob has two names: `REL_DIAL+` for a turn to the right, and `REL_DIAL-` for a turn
 * to the left. Others have their number: `KEY_530`.
 */

export interface ButtonCode {
  /** A key or button is pressed, or a knob is turned by a number of steps. */
  readonly kind: "key" | "turn";
  readonly code: number;
  /** 1 or -1 for a turn; 1 for a key. */
  readonly way: number;
}

/** Keys as `name:code`, without KEY_. */
const keys = [
  "power:116 sleep:142 wakeup:143 mute:113 volumedown:114 volumeup:115 playpause:164 play:207 pause:119",
  "playcd:200 pausecd:201 stopcd:166 stop:128 nextsong:163 previoussong:165 fastforward:208 rewind:168",
  "forward:159 back:158 home:102 homepage:172 menu:139 select:353 ok:352 info:358 ejectcd:161",
  "record:167 restart:408 brightnessdown:224 brightnessup:225 red:398 green:399 yellow:400 blue:401",
  "channelup:402 channeldown:403 esc:1 enter:28 space:57 tab:15 backspace:14 up:103 down:108 left:105",
  "right:106 pageup:104 pagedown:109 insert:110 delete:111 end:107 kpenter:96 kpplus:78 kpminus:74",
  "kpasterisk:55 kpslash:98 kpdot:83 numlock:69 0:11 1:2 2:3 3:4 4:5 5:6 6:7 7:8 8:9 9:10 kp0:82 kp1:79",
  "kp2:80 kp3:81 kp4:75 kp5:76 kp6:77 kp7:71 kp8:72 kp9:73 f1:59 f2:60 f3:61 f4:62 f5:63 f6:64 f7:65",
  "f8:66 f9:67 f10:68 f11:87 f12:88 f13:183 f14:184 f15:185 f16:186 f17:187 f18:188 f19:189 f20:190",
  "f21:191 f22:192 f23:193 f24:194 a:30 b:48 c:46 d:32 e:18 f:33 g:34 h:35 i:23 j:36 k:37 l:38 m:50",
  "n:49 o:24 p:25 q:16 r:19 s:31 t:20 u:22 v:47 w:17 x:45 y:21 z:44 prog1:148 prog2:149 prog3:202",
  "prog4:203",
].join(" ");

/** Buttons as `name:code`, without BTN_. */
const buttons = [
  "0:256 1:257 2:258 3:259 4:260 5:261 6:262 7:263 8:264 9:265 south:304 east:305 north:307 west:308",
  "tl:310 tr:311 tl2:312 tr2:313 select:314 start:315 mode:316 thumbl:317 thumbr:318 dpad_up:544",
  "dpad_down:545 dpad_left:546 dpad_right:547 trigger:288 thumb:289 thumb2:290 top:291 top2:292",
  "pinkie:293 base:294 base2:295 base3:296 base4:297 base5:298 base6:299 trigger_happy1:704",
  "trigger_happy2:705 trigger_happy3:706 trigger_happy4:707",
].join(" ");

/** Knobs as `name:code`, without REL_. */
const knobs = "x:0 y:1 dial:7 wheel:8 misc:9";

const codes: ReadonlyMap<string, number> = new Map([
  ...namesOf("KEY_", keys),
  ...namesOf("BTN_", buttons),
  ...namesOf("REL_", knobs),
]);

const codeMax = 0x2ff; // KEY_MAX
const turnMax = 0x0f; // REL_MAX

function namesOf(prefix: string, list: string): readonly (readonly [string, number])[] {
  return list.split(" ").map((one) => {
    const [name = "", code] = one.split(":");
    return [`${prefix}${name.toUpperCase()}`, Number(code)] as const;
  });
}

/** The code of a name in any case; undefined for an unknown one. */
export function buttonCode(name: string): ButtonCode | undefined {
  const upper = name.trim().toUpperCase();
  const [, knob, sign] = /^(REL_\w+)([+-])$/.exec(upper) ?? [];
  const plain = knob ?? upper;
  const [, number] = /^(?:KEY|BTN|REL)_(\d{2,3})$/.exec(plain) ?? [];
  const code = codes.get(plain) ?? (number === undefined ? undefined : Number(number));
  if (code === undefined || code > (knob === undefined ? codeMax : turnMax)) return undefined;
  if (knob === undefined) return plain.startsWith("REL_") ? undefined : { kind: "key", code, way: 1 };
  return { kind: "turn", code, way: sign === "-" ? -1 : 1 };
}

const namesByCode: ReadonlyMap<string, string> = new Map(
  [...codes].map(([name, code]) => [`${name.startsWith("REL_") ? "turn" : "key"} ${code}`, name]),
);

/** The name that stands for a code in the settings. */
export function buttonName({ kind, code, way }: ButtonCode): string {
  const name =
    namesByCode.get(`${kind} ${code}`) ??
    `${kind === "turn" ? "REL" : "KEY"}_${String(code).padStart(2, "0")}`;
  return kind === "key" ? name : `${name}${way < 0 ? "-" : "+"}`;
}

/** The known names, for suggestions. */
export const buttonNames: readonly string[] = [...codes.keys()].flatMap((name) =>
  name.startsWith("REL_") ? [`${name}+`, `${name}-`] : [name],
);
