/** Wraps the prose of Markdown pages that programs write. */

const WIDTH = 100;

/**
 * Breaks each line of prose at 100 columns. Tables, headings, comments and code stay as they are.
 */
export function wrapProse(markdown: string): string {
  let isCode = false;
  const lines = markdown.split('\n').flatMap((line) => {
    if (line.startsWith('```')) isCode = !isCode;
    return isCode || /^(?:```|\||#|<!--)/.test(line) ? [line] : wrapLine(line);
  });
  return lines.join('\n');
}

function wrapLine(line: string): string[] {
  const mark = /^(?:- |> )?/.exec(line)?.[0] ?? '';
  const indent = mark === '- ' ? '  ' : mark;
  const lines: string[] = [];
  let current = mark;
  let isEmpty = true;
  for (const word of line.slice(mark.length).split(' ')) {
    if (isEmpty) current += word;
    else if (current.length + 1 + word.length <= WIDTH) current += ` ${word}`;
    else {
      lines.push(current);
      current = indent + word;
    }
    isEmpty = false;
  }
  return [...lines, current];
}
