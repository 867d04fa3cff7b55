/** The completions of `tapdeck completions` for bash, zsh and fish, made from the table of commands. */
import { changeableSettings } from "../config/settings-patch.ts";
import { keptLevels } from "../core/log-ring.ts";
import { roles } from "../core/rights.ts";
import { type CommandName, commandHelp, commandNames } from "./help.ts";
import { type OptionHelp, optionsOf } from "./help-text.ts";

export const shells = ["bash", "zsh", "fish"] as const;
type Shell = (typeof shells)[number];

export function isShell(word: string): word is Shell {
  return shells.some((shell) => shell === word);
}

export function completionsFor(shell: Shell): string {
  return { bash, zsh, fish }[shell]();
}

/** The words that may follow a command; none if they are free. */
function choicesOf(command: CommandName): readonly string[] {
  if (command === "help") return commandNames;
  if (command === "completions") return shells;
  if (command === "cards") return ["status", "key", "publish"];
  return command === "settings" ? ["get", "set", ...changeableSettings()] : [];
}

const takesFile = (command: CommandName) => ["update", "backup", "restore"].includes(command);
/** The values of an option, if they are few. */
const valuesOf = ({ name }: { readonly name: string }): readonly string[] =>
  name === "role" ? roles : name === "level" ? keptLevels : [];
const isPath = ({ value }: OptionHelp) => value === "FILE" || value === "FOLDER";
const long = ({ name }: OptionHelp) => `--${name}`;
const dashed = (option: OptionHelp) => [
  ...(option.letter === undefined ? [] : [`-${option.letter}`]),
  long(option),
];
const summaryOf = (command: CommandName) => commandHelp[command].summary;

function bash(): string {
  const common = optionsOf(undefined);
  const valued = common.filter(({ value }) => value !== undefined);
  const cases = commandNames.map((command) => {
    const words = [...optionsOf(command), ...common].map(long);
    const file = takesFile(command) ? "; files=1" : "";
    return `    ${command}) words="${[...choicesOf(command), ...words].join(" ")}"${file} ;;`;
  });
  const paths = new Set(
    [undefined, ...commandNames].flatMap((command) => optionsOf(command).filter(isPath).map(long)),
  );
  const chosen = (["role", "level"] as const).map(
    (name) => `  --${name})
    mapfile -t COMPREPLY < <(compgen -W "${valuesOf({ name }).join(" ")}" -- "$word")
    return
    ;;`,
  );
  // `pair --list` takes no value, and is followed by no word either.
  return `# bash completion for tapdeck
_tapdeck() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} command= words= files= i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
    ${valued.map(long).join(" | ")})
      [[ \${COMP_WORDS[i+1]} == = ]] && ((i++))
      ((i++))
      ;;
    -*) ;;
    *)
      command=\${COMP_WORDS[i]}
      break
      ;;
    esac
  done
  [[ $before == = ]] && before=\${COMP_WORDS[COMP_CWORD-2]}
  [[ $word == = ]] && word=
  case $before in
  ${[...paths].join(" | ")})
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
    return
    ;;
${chosen.join("\n")}
  esac
  case $command in
    "") words="${[...commandNames, ...common.map(long)].join(" ")}" ;;
${cases.join("\n")}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  if [[ $files && $word != -* ]]; then
    compopt -o filenames
    mapfile -t -O "\${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -F _tapdeck tapdeck
`;
}

function zsh(): string {
  const spec = (option: OptionHelp) => {
    const text = `[${option.text.replaceAll(/[[\]:\\]/g, "\\$&")}]`;
    const values = valuesOf(option);
    const action = isPath(option) ? "_files" : values.length > 0 ? `(${values.join(" ")})` : " ";
    const value = option.value === undefined ? "" : `:${option.value}:${action}`;
    return dashed(option).map((form) => quoted(`${form}${text}${value}`));
  };
  const cases = commandNames.map((command) => {
    const choices = choicesOf(command);
    const words = choices.length > 0 ? `(${choices.join(" ")})` : takesFile(command) ? "_files" : " ";
    const specs = [...optionsOf(command).flatMap(spec), quoted(`*:word:${words}`)];
    return `      ${command}) _arguments $common ${specs.join(" ")} ;;`;
  });
  return `#compdef tapdeck
_tapdeck() {
  local curcontext="$curcontext" state line
  local -a commands common
  commands=(
${commandNames.map((command) => `    ${quoted(`${command}:${summaryOf(command).replaceAll(":", "\\:")}`)}`).join("\n")}
  )
  common=(
${optionsOf(undefined)
  .flatMap(spec)
  .map((one) => `    ${one}`)
  .join("\n")}
  )
  _arguments -C $common '1:command:->command' '*::word:->word'
  case $state in
  command) _describe command commands ;;
  word)
    case $line[1] in
${cases.join("\n")}
    esac
    ;;
  esac
}
if [[ $funcstack[1] == _tapdeck ]]; then _tapdeck "$@"; else compdef _tapdeck tapdeck; fi
`;
}

function fish(): string {
  const line = (option: OptionHelp, condition: string) => {
    const value =
      option.value === undefined
        ? ""
        : valuesOf(option).length > 0
          ? ` -x -a ${quoted(valuesOf(option).join(" "))}`
          : isPath(option)
            ? " -r -F"
            : " -x";
    const letter = option.letter === undefined ? "" : ` -s ${option.letter}`;
    return `complete -c tapdeck${condition} -l ${option.name}${letter}${value} -d ${quoted(option.text)}`;
  };
  const lines = commandNames.flatMap((command) => {
    const within = ` -n '__fish_seen_subcommand_from ${command}'`;
    const choices = choicesOf(command);
    return [
      `complete -c tapdeck -n __fish_use_subcommand -a ${command} -d ${quoted(summaryOf(command))}`,
      ...(choices.length === 0 ? [] : [`complete -c tapdeck${within} -a ${quoted(choices.join(" "))}`]),
      ...(takesFile(command) ? [`complete -c tapdeck${within} -F`] : []),
      ...optionsOf(command).map((option) => line(option, within)),
    ];
  });
  const common = optionsOf(undefined).map((option) => line(option, ""));
  return `# fish completion for tapdeck\ncomplete -c tapdeck -f\n${[...common, ...lines].join("\n")}\n`;
}

/** In single quotes, which bash, zsh and fish read alike if no backslash stands before a quote. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
