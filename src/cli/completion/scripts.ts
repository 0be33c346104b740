/** The completion scripts: each passes the words up to the cursor to the program, and offers its answer. */

/** The first word of the program's own call, which no help shows. */
export const COMPLETE = '__complete';

/** From version 3.2 on (macOS). It needs no bash-completion. */
const BASH = `# Completes inf-gw in bash. Printed by: inf-gw completion bash
_inf_gw() {
  local rest=\${COMP_LINE:0:COMP_POINT} words=() count=0 i word gap current prefix='' quote='' found line item start=0 breaks
  # Bash has split the words at : and =.
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
  current=\${words[count - 1]}
  case $current in
    [\\"\\']*) quote=yes current=\${current#?} ;;
    *) current=\${current//\\\\/} ;;
  esac
  words=("\${words[@]//[\\\\\\"\\']/}")
  words[count - 1]=$current
  COMPREPLY=()
  found=$("$1" ${COMPLETE} "\${words[@]:1}" 2>/dev/null </dev/null)
  if [[ $found == :file* ]]; then
    if type compopt >/dev/null 2>&1; then
      compopt -o default
      return
    fi
    [[ $current == --*=* ]] && prefix=\${current%%=*}=
    found=$(compgen -P "$prefix" -f -- "\${current#"$prefix"}")
  fi
  # Readline replaces what comes after the last of these, unless it is quoted.
  breaks=\${COMP_WORDBREAKS//[!:=@]/}
  [[ -z $quote && -n $breaks ]] && line=\${current##*[$breaks]} start=$((\${#current} - \${#line}))
  while IFS= read -r line; do
    line=\${line%%$'\\t'*}
    [[ -n $line && $line == "$current"* ]] || continue
    item=\${line:start}
    [[ -z $quote ]] && printf -v item %q "$item"
    COMPREPLY[\${#COMPREPLY[@]}]=$item
  done <<<"$found"
}

complete -F _inf_gw inf-gw
`;

/** A function to autoload or to source. */
const ZSH = `#compdef inf-gw
# Completes inf-gw in zsh. Printed by: inf-gw completion zsh
_inf_gw() {
  local -a found described
  local line
  found=("\${(@f)$(\${(Q)words[1]} ${COMPLETE} "\${(@Q)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null </dev/null)}")
  if [[ $found[1] == :file* ]]; then
    compset -P 1 '*='
    _files
    return
  fi
  for line in $found; do
    described+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  _describe -V inf-gw described
}

if [[ $funcstack[1] == (_inf_gw|_inf-gw) ]]; then
  _inf_gw "$@"
else
  compdef _inf_gw inf-gw
fi
`;

/** From version 3.4 on. */
const FISH = `# Completes inf-gw in fish. Printed by: inf-gw completion fish
function __inf_gw_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l found ($words[1] ${COMPLETE} $words[2..] "$current" 2>/dev/null </dev/null)
    if string match -q ':file*' -- "$found[1]"
        set -l prefix (string match -r -- '^--[^=]*=' $current)
        printf "$prefix%s\\n" (__fish_complete_path (string replace -- "$prefix" '' $current))
        return
    end
    printf '%s\\n' $found
end

complete -c inf-gw -f -a '(__inf_gw_complete)'
`;

export const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH } as const;
