/** The completion script for bash, from version 3.2 on (that of macOS). It needs no bash-completion. */
import { VERSION } from '../../core/program.ts';
import { quoted } from '../../core/shell-word.ts';
import { CANDIDATES, type Place } from './places.ts';

export function bashScript(places: readonly Place[]): string {
  return `# Completes inf-gw ${VERSION} in bash. Printed by: inf-gw completion bash

# What can follow at a place: commands, options, the values of options, the values of arguments.
_inf_gw_place() {
  commands='' options='' values='' arguments=''
  case $1 in
${places.map(placeCase).join('\n')}
  esac
}

# The words before the cursor, put together again where bash has split them at : or =.
_inf_gw_words() {
  local rest=\${COMP_LINE:0:COMP_POINT} i word gap
  words=() count=0
  for ((i = 0; i <= COMP_CWORD; i++)); do
    gap=\${rest%%[![:space:]]*}
    rest=\${rest#"$gap"}
    word=\${COMP_WORDS[i]}
    ((i == COMP_CWORD)) && word=$rest
    rest=\${rest#"$word"}
    if ((i == 0)) || [[ -n $gap ]]; then
      words[count]=$word
      count=$((count + 1))
    else
      words[count - 1]+=$word
    fi
  done
}

# Follows the words from command to command, up to the one at the cursor.
_inf_gw_follow() {
  local i word option='' place=''
  kind='' config='' position=0 ended=''
  _inf_gw_place ''
  for ((i = 1; i < count - 1; i++)); do
    word=\${words[i]}
    word=\${word//[\\\\\\"\\']/}
    if [[ -n $kind ]]; then
      [[ $option == -c || $option == --config ]] && config=$word
      kind=''
    elif [[ -n $ended ]]; then
      position=$((position + 1))
    elif [[ $word == -- ]]; then
      ended=yes
    elif [[ $word == --*=* ]]; then
      [[ $word == --config=* ]] && config=\${word#*=}
    elif [[ $word == -* ]]; then
      option=$word
      _inf_gw_value "$option"
    elif [[ " $commands " == *" $word "* ]]; then
      place=\${place:+$place }$word
      position=0
      _inf_gw_place "$place"
    else
      position=$((position + 1))
    fi
  done
}

# Sets the kind of an option's value: none if it has no value.
_inf_gw_value() {
  kind=''
  [[ $values == *" $1="* ]] || return
  kind=\${values#*" $1="}
  kind=\${kind%% *}
}

# Sets the kind of the next argument. One that ends in * can be repeated.
_inf_gw_argument() {
  local each i=0
  kind=''
  for each in $arguments; do
    if ((i == position)) || [[ $each == *'*' ]]; then
      kind=\${each%'*'}
      return
    fi
    i=$((i + 1))
  done
}

_inf_gw() {
  local commands options values arguments words count kind config position ended
  local current prefix='' quote='' found='' line item start=0 breaks
  COMPREPLY=()
  _inf_gw_words
  _inf_gw_follow
  current=\${words[count - 1]}
  case $current in
    [\\"\\']*) quote=yes current=\${current#?} ;;
    *) current=\${current//\\\\/} ;;
  esac
  if [[ -z $kind ]]; then
    if [[ -z $ended && $current == --*=* ]]; then
      _inf_gw_value "\${current%%=*}"
      prefix=\${current%%=*}=
      current=\${current#*=}
    elif [[ -z $ended && $current == -* ]]; then
      kind=options
    elif [[ -n $commands ]]; then
      kind=commands
    else
      _inf_gw_argument
    fi
  fi
  case $kind in
    commands) found=\${commands// /$'\\n'} ;;
    options) found=\${options// /$'\\n'} ;;
    choice:*) found=\${kind#choice:} found=\${found//,/$'\\n'} ;;
    key | group | model) found=$("$1" ${CANDIDATES} $kind \${config:+"$config"} 2>/dev/null </dev/null) ;;
    file)
      if type compopt >/dev/null 2>&1; then
        compopt -o default
        return
      fi
      found=$(compgen -f -- "$current")
      ;;
  esac
  # Readline replaces what comes after the last of these, unless it is quoted.
  breaks=\${COMP_WORDBREAKS//[!:=@]/}
  item=$prefix$current
  [[ -z $quote && -n $breaks ]] && line=\${item##*[$breaks]} start=$((\${#item} - \${#line}))
  while IFS= read -r line; do
    [[ -n $line && $line == "$current"* ]] || continue
    item=$prefix$line
    item=\${item:start}
    [[ -z $quote ]] && printf -v item %q "$item"
    COMPREPLY[\${#COMPREPLY[@]}]=$item
  done <<<"$found"
}

complete -F _inf_gw inf-gw
`;
}

function placeCase({ path, commands, options, values, arguments: taken }: Place): string {
  const assignments = [
    ['commands', commands.map(({ word }) => word).join(' ')],
    ['options', options.map(({ word }) => word).join(' ')],
    ['values', ` ${values.map(({ option, value }) => `${option}=${value}`).join(' ')} `],
    ['arguments', taken.join(' ')],
  ].flatMap(([name = '', text = '']) => (text.trim() === '' ? [] : [`      ${name}=${quoted(text)}`]));
  return `    ${quoted(path)})\n${assignments.join('\n')}\n      ;;`;
}
