/** The completion script for fish, from version 3.4 on. */
import { VERSION } from '../../core/program.ts';
import { CANDIDATES, type Described, type Place } from './places.ts';

export function fishScript(places: readonly Place[]): string {
  return `# Completes inf-gw ${VERSION} in fish. Printed by: inf-gw completion fish

# What can follow at a place: commands, options, the values of options, the values of arguments.
function __inf_gw_place --no-scope-shadowing
    set commands
    set options
    set values
    set arguments
    switch "$argv[1]"
${places.map(placeCase).join('\n')}
    end
end

# The kind of an option's value: none if it has no value.
function __inf_gw_value --no-scope-shadowing
    set kind (string replace -f -- "$argv[1]=" '' $values)
end

function __inf_gw_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l commands
    set -l options
    set -l values
    set -l arguments
    set -l place
    set -l kind
    set -l config
    set -l option
    set -l ended
    set -l position 1
    set -l prefix
    __inf_gw_place ''
    for word in $words[2..]
        if test -n "$kind"
            contains -- $option -c --config; and set config $word
            set kind
        else if test -n "$ended"
            set position (math $position + 1)
        else if test "$word" = --
            set ended yes
        else if string match -q -- '--*=*' $word
            string match -q -- '--config=*' $word; and set config (string replace -- --config= '' $word)
        else if string match -q -- '-*' $word
            set option $word
            __inf_gw_value $option
        else if string match -q -- "$word"\\t'*' $commands
            set place $place $word
            set position 1
            __inf_gw_place "$place"
        else
            set position (math $position + 1)
        end
    end
    if test -z "$kind"
        if test -z "$ended"; and string match -q -- '--*=*' $current
            set prefix (string replace -r -- '=.*' '=' $current)
            __inf_gw_value (string replace -- = '' $prefix)
        else if test -z "$ended"; and string match -q -- '-*' $current
            set kind options
        else if set -q commands[1]
            set kind commands
        else if set -q arguments[1]
            if test $position -gt (count $arguments); and string match -q '*\\*' -- $arguments[-1]
                set position (count $arguments)
            end
            set kind (string replace '*' '' -- $arguments[$position])
        end
    end
    switch "$kind"
        case commands
            printf '%s\\n' $commands
        case options
            printf '%s\\n' $options
        case 'choice:*'
            printf "$prefix%s\\n" (string split , (string replace choice: '' $kind))
        case key group model
            printf "$prefix%s\\n" ($words[1] ${CANDIDATES} $kind $config 2>/dev/null </dev/null)
        case file
            printf "$prefix%s\\n" (__fish_complete_path (string replace -- "$prefix" '' $current))
    end
end

complete -c inf-gw -f -a '(__inf_gw_complete)'
`;
}

function placeCase({ path, commands, options, values, arguments: taken }: Place): string {
  const assignments = [
    ['commands', commands.map(described)],
    ['options', options.map(described)],
    ['values', values.map(({ option, value }) => fishQuoted(`${option}=${value}`))],
    ['arguments', taken.map(fishQuoted)],
  ] as const;
  const lines = assignments.flatMap(([name, words]) =>
    words.length === 0 ? [] : [`            set ${name} ${words.join(' ')}`],
  );
  return `        case ${fishQuoted(path)}\n${lines.join('\n')}`;
}

function described({ word, description }: Described): string {
  return `${word}\\t${fishQuoted(description)}`;
}

/** In single quotes, where fish knows escapes for the quote and the backslash. */
function fishQuoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}
