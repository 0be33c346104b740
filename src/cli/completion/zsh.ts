/** The completion script for zsh, as a function to autoload or to source. */
import { VERSION } from '../../core/program.ts';
import { quoted } from '../../core/shell-word.ts';
import { CANDIDATES, type Described, type Place } from './places.ts';

export function zshScript(places: readonly Place[]): string {
  return `#compdef inf-gw
# Completes inf-gw ${VERSION} in zsh. Printed by: inf-gw completion zsh

# What can follow at a place: commands, options, the values of options, the values of arguments. Their plain names are
# parameters of zsh itself.
_inf_gw_place() {
  subcommands=() flags=() kinds=() operands=()
  case $1 in
${places.map(placeCase).join('\n')}
  esac
}

_inf_gw() {
  local -a subcommands flags operands found
  local -A kinds
  local word place kind config option ended
  integer i position=1
  _inf_gw_place ''
  for ((i = 2; i < CURRENT; i++)); do
    word=\${(Q)words[i]}
    if [[ -n $kind ]]; then
      [[ $option == (-c|--config) ]] && config=$word
      kind=''
    elif [[ -n $ended ]]; then
      ((position++))
    elif [[ $word == -- ]]; then
      ended=yes
    elif [[ $word == --*=* ]]; then
      [[ $word == --config=* ]] && config=\${word#*=}
    elif [[ $word == -* ]]; then
      option=$word
      kind=\${kinds[$option]-}
    elif ((\${subcommands[(I)\${(b)word}:*]})); then
      place=\${place:+$place }$word
      position=1
      _inf_gw_place $place
    else
      ((position++))
    fi
  done
  if [[ -z $kind ]]; then
    if [[ -z $ended && $PREFIX == --*=* ]]; then
      kind=\${kinds[\${PREFIX%%=*}]-}
      compset -P 1 '*='
    elif [[ -z $ended && $PREFIX == -* ]]; then
      kind=options
    elif (($#subcommands)); then
      kind=commands
    elif (($#operands)); then
      ((position > $#operands)) && [[ $operands[-1] == *'*' ]] && position=$#operands
      kind=\${operands[position]%'*'}
    fi
  fi
  case $kind in
    commands) _describe -t commands command subcommands ;;
    options) _describe -o option flags ;;
    choice:*) found=(\${(s:,:)kind#choice:}) && compadd -a found ;;
    key|group|model)
      found=(\${(f)"$(\${(Q)words[1]} ${CANDIDATES} $kind \${config:+$config} 2>/dev/null </dev/null)"})
      compadd -a found
      ;;
    file) _files ;;
    *) return 1 ;;
  esac
}

if [[ $funcstack[1] == (_inf_gw|_inf-gw) ]]; then
  _inf_gw "$@"
else
  compdef _inf_gw inf-gw
fi
`;
}

function placeCase({ path, commands, options, values, arguments: taken }: Place): string {
  const assignments = [
    ['subcommands', commands.map(described)],
    ['flags', options.map(described)],
    ['kinds', values.map(({ option, value }) => `${quoted(option)} ${quoted(value)}`)],
    ['operands', taken.map(quoted)],
  ] as const;
  const lines = assignments.flatMap(([name, words]) =>
    words.length === 0 ? [] : [`      ${name}=(${words.join(' ')})`],
  );
  return `    ${quoted(path)})\n${lines.join('\n')}\n      ;;`;
}

/** `_describe` takes the first colon for the end of the word. */
function described({ word, description }: Described): string {
  return quoted(`${word.replaceAll(':', '\\:')}:${description}`);
}
