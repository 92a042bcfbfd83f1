import { type ContentDetector, type Detection, type LaneInput, nothingFound } from './lanes.js';
import { isWriteShaped, toolTokens } from '../tool-shape.js';
import { composed } from '../expressions/linear.js';

/** One class of code that nobody writes by accident. `gate` lists texts of which at least one must occur before the rest is tried. */
interface Needle {
  readonly name: string;
  readonly gate: readonly string[];
  readonly found: (code: Code) => boolean;
}

/** Decoded, plain, lower-case text with punctuation, also split into lines and commands. */
interface Code {
  readonly plain: string;
  readonly lines: () => readonly string[];
  /** Split at line ends, semicolons and pipes. `piped` says that the next command reads this one's output. */
  readonly commands: () => readonly { readonly text: string; readonly piped: boolean }[];
}

const anywhere =
  (...patterns: readonly RegExp[]): Needle['found'] =>
  ({ plain }) =>
    patterns.every((pattern) => pattern.test(plain));

/**
 * True when both occur in one part, the second after the first. Searched one after the other, because a single expression with a gap would
 * be slow on a text of nothing but first halves.
 */
const follows = (part: string, first: RegExp, second: RegExp): boolean => {
  const head = first.exec(part);
  return head !== null && second.test(part.slice(head.index + head[0].length));
};
const inOneLine =
  (first: RegExp, second: RegExp): Needle['found'] =>
  ({ lines }) =>
    lines().some((line) => follows(line, first, second));
const inOneCommand =
  (first: RegExp, second: RegExp): Needle['found'] =>
  ({ commands }) =>
    commands().some(({ text }) => follows(text, first, second));
const pipedInto =
  (first: RegExp, second: RegExp): Needle['found'] =>
  ({ commands }) =>
    commands().some(({ text, piped }, at, all) => piped && first.test(text) && second.test(all[at + 1]?.text ?? ''));

const SHELL = String.raw`(?:\/\S{0,80}\/)?(?:ba|z|da|k)?sh`;
const INTERPRETER = composed(
  String.raw`^\s*(?:sudo\s+(?:-\S+\s+)*)?(?:${SHELL}|(?:\/\S{0,80}\/)?(?:python[0-9.]*|perl|ruby|node|pwsh|powershell))(?![\w.-])`,
);
const DOWNLOAD = /\b(?:curl|wget|fetch)\b/;

/** Every expression is linear in the text, which may be a megabyte crafted to be slow. */
const NEEDLES: readonly Needle[] = [
  { name: 'reverse_shell', gate: ['/dev/'], found: anywhere(/\/dev\/(?:tcp|udp)\/[^\s/]{1,255}\/[0-9$]/) },
  { name: 'reverse_shell', gate: ['-i'], found: anywhere(/\b(?:ba|z|da|k)?sh\s+-i\s*(?:[0-9]?>&|>\s*&|<&)/) },
  {
    name: 'reverse_shell',
    gate: ['nc', 'netcat'],
    found: inOneCommand(
      /\b(?:nc|ncat|netcat)(?:\.exe|\.traditional)?\s/,
      composed(String.raw`(?:^|\s)-(?:[a-z]{0,8}e|-exec|c)\s+["']?(?:${SHELL}|cmd(?:\.exe)?|powershell)\b`),
    ),
  },
  {
    name: 'reverse_shell',
    gate: ['mkfifo'],
    found: inOneLine(/\bmkfifo\b/, /\|\s*(?:nc|ncat|netcat|openssl s_client)\b/),
  },
  {
    name: 'reverse_shell',
    gate: ['dup2'],
    found: anywhere(
      /\bdup2\(\s*(?:\w{1,30}\.fileno\(\)|\w{0,20}sock\w{0,20}|s|fd)\s*,/,
      /\bsocket\b/,
      /\bsubprocess\b|\bpty\.spawn\b|\bexec[lv]p?e?\(|\/bin\/(?:ba|z|da)?sh\b/,
    ),
  },
  { name: 'pipe_to_shell', gate: ['curl', 'wget', 'fetch'], found: pipedInto(DOWNLOAD, INTERPRETER) },
  {
    name: 'pipe_to_shell',
    gate: ['curl', 'wget'],
    found: anywhere(/\b(?:(?:ba|z|da)?sh|eval|source)\s+(?:-c\s+)?["']?(?:<\(|\$\(|`)\s*(?:curl|wget)\b/),
  },
  {
    name: 'pipe_to_shell',
    gate: ['iex', 'invoke-expression'],
    found: ({ lines }) =>
      lines().some(
        (line) => /\b(?:iex|invoke-expression)\b/.test(line) && /downloadstring|invoke-webrequest|\biwr\b/.test(line),
      ),
  },
  {
    name: 'encoded_eval',
    gate: ['eval', 'exec', 'assert'],
    found: anywhere(
      /\b(?:eval|exec|assert)\s*\(\s*(?:compile\s*\(\s*)?(?:atob|base64_decode|gzinflate|str_rot13|base64\.b64decode|b64decode|codecs\.decode|zlib\.decompress|__import__\(\s*["']base64["']\s*\)|string\.fromcharcode)/,
    ),
  },
  {
    name: 'encoded_eval',
    gate: ['buffer.from'],
    found: anywhere(/\beval\s*\(\s*buffer\.from\(/, /["']base64["']/),
  },
  { name: 'encoded_eval', gate: ['base64'], found: pipedInto(/\bbase64\s+(?:-d|--decode|-di)\b/, INTERPRETER) },
  {
    name: 'encoded_eval',
    gate: ['powershell', 'pwsh'],
    found: inOneLine(/\b(?:powershell|pwsh)(?:\.exe)?\b/, /\s-e(?:nc|ncodedcommand|c)?\s+[a-z0-9+/=]{16}/),
  },
  {
    name: 'fork_bomb',
    gate: ['&'],
    found: anywhere(/(:|\b[a-z_]\w{0,30})\s*\(\s*\)\s*\{\s*\1\s*\|\s*\1\s*&\s*\}/),
  },
  { name: 'fork_bomb', gate: ['os.fork'], found: anywhere(/while\s?\(?\s?(?:true|1)\s?\)?\s?[:{]\s?os\.fork\(\)/) },
  {
    name: 'credential_theft',
    gate: ['.ssh/id_', '.aws/credentials', '/etc/shadow', '.npmrc', '.netrc'],
    found: ({ lines }) =>
      lines().some(
        (line) =>
          /\b(?:curl|wget|nc|ncat)\b/.test(line) &&
          /\.ssh\/id_|\.aws\/credentials|\/etc\/shadow|\.npmrc|\.netrc/.test(line) &&
          /[@<]|\s-t\s|--data|--upload-file|--post-file/.test(line),
      ),
  },
];

function codeOf(plain: string): Code {
  let lines: string[] | undefined;
  let commands: { text: string; piped: boolean }[] | undefined;
  return {
    plain,
    lines: () => (lines ??= plain.split('\n')),
    commands: () => (commands ??= commandsOf(plain)),
  };
}

function commandsOf(plain: string): { text: string; piped: boolean }[] {
  const commands: { text: string; piped: boolean }[] = [];
  let start = 0;
  for (let index = 0; index < plain.length; index += 1) {
    const unit = plain[index];
    if (unit !== '\n' && unit !== ';' && unit !== '|') continue;
    // A line that ends with a pipe continues in the next line.
    const blank = unit === '\n' && commands.at(-1)?.piped === true && plain.slice(start, index).trim() === '';
    if (!blank) commands.push({ text: plain.slice(start, index), piped: unit === '|' });
    start = index + 1;
  }
  commands.push({ text: plain.slice(start), piped: false });
  return commands;
}

/** Looks for malicious code in what a write-shaped tool would store. Other tools are not judged by this lane. */
export function detectMaliciousCode({ tool, texts: { plain } }: LaneInput): Detection {
  if (!isWriteShaped(toolTokens(tool))) return nothingFound;
  const code = codeOf(plain);
  const found = new Set<string>();
  for (const needle of NEEDLES) {
    if (!found.has(needle.name) && needle.gate.some((part) => plain.includes(part)) && needle.found(code))
      found.add(needle.name);
  }
  if (found.size === 0) return nothingFound;
  return { detected: true, confidence: found.size === 1 ? 0.9 : 0.97, found: [...found] };
}

export const offlineMaliciousCode: ContentDetector = {
  model: 'gate-offline:malicious-code-1',
  detect: detectMaliciousCode,
};
