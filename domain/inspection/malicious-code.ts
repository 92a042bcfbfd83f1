import { type ContentDetector, type Detection, type LaneInput, nothingFound } from './lanes.js';
import { isWriteShaped, toolTokens } from './tool-shape.js';

/** brain sheet 6: classes of code nobody writes by accident. Matched on decoded, folded, lower-case text with its punctuation. */
const NEEDLES: readonly { readonly name: string; readonly gate: readonly string[]; readonly pattern: RegExp }[] = [
  { name: 'reverse_shell', gate: ['/dev/'], pattern: /\/dev\/(?:tcp|udp)\/[^\s/]{1,255}\/[0-9$]/ },
  { name: 'reverse_shell', gate: ['-i'], pattern: /\b(?:ba|z|da|k)?sh\s+-i\s*(?:[0-9]?>&|>\s*&|<&|\|)/ },
  {
    name: 'reverse_shell',
    gate: ['nc'],
    pattern:
      /\b(?:nc|ncat|netcat)(?:\.exe|\.traditional)?\s[^\n;|]{0,120}-(?:[a-z]*e|-exec|c)\s+["']?(?:\/\S*\/)?(?:(?:ba|z|da)?sh|cmd(?:\.exe)?|powershell)\b/,
  },
  {
    name: 'reverse_shell',
    gate: ['mkfifo'],
    pattern: /\bmkfifo\b[^\n]{0,200}\|\s*(?:nc|ncat|netcat|openssl s_client)\b/,
  },
  {
    name: 'reverse_shell',
    gate: ['dup2'],
    pattern: /\bsocket\b[\s\S]{0,400}\bdup2\b[\s\S]{0,400}(?:subprocess|pty\.spawn|execve?|\/bin\/(?:ba|z|da)?sh)/,
  },
  {
    name: 'pipe_to_shell',
    gate: ['curl', 'wget', 'fetch', 'iwr', 'downloadstring', 'invoke-webrequest'],
    pattern:
      /\b(?:curl|wget|fetch)\b[^\n|;]{0,400}\|\s*(?:sudo\s+(?:-\S+\s+)*)?(?:\/\S*\/)?(?:(?:ba|z|da|k)?sh|python[0-9.]*|perl|ruby|node)\b|\b(?:(?:ba|z|da)?sh|eval)\s+(?:-c\s+)?["']?(?:<\(|\$\(|`)\s*(?:curl|wget)\b|\b(?:iex|invoke-expression)\b[^\n]{0,200}(?:downloadstring|invoke-webrequest|\biwr\b)|(?:downloadstring|invoke-webrequest|\biwr\b)[^\n]{0,300}\|\s*(?:iex|invoke-expression)\b/,
  },
  {
    name: 'encoded_eval',
    gate: ['eval', 'exec', 'base64', 'powershell', 'pwsh', 'fromcharcode'],
    pattern:
      /\b(?:eval|exec|assert)\s*\(\s*(?:compile\s*\(\s*)?(?:atob|base64_decode|gzinflate|str_rot13|base64\.b64decode|b64decode|codecs\.decode|zlib\.decompress|__import__\(\s*["']base64["']\s*\)|buffer\.from\([^)\n]{0,4000}["']base64["']\)|string\.fromcharcode)|\bbase64\s+(?:-d|--decode|-di)\b[^\n|;]{0,200}\|\s*(?:sudo\s+)?(?:\/\S*\/)?(?:(?:ba|z|da)?sh|python[0-9.]*|perl)\b|\b(?:powershell|pwsh)(?:\.exe)?\b[^\n]{0,160}\s-e(?:nc|ncodedcommand|c)?\s+[a-z0-9+/=]{16,}/,
  },
  { name: 'fork_bomb', gate: ['&'], pattern: /(:|\b[a-z_]\w{0,30})\s*\(\s*\)\s*\{\s*\1\s*\|\s*\1\s*&\s*\}/ },
  { name: 'fork_bomb', gate: ['os.fork'], pattern: /while\s*(?:\(?\s*(?:true|1)\s*\)?)\s*[:{]\s*os\.fork\(\)/ },
  {
    name: 'credential_theft',
    gate: ['.ssh', '.aws', '/etc/shadow', '.npmrc', '.netrc'],
    pattern:
      /(?:curl|wget|nc|ncat)\b[^\n]{0,300}(?:@|<|-t\s+|--data\S*\s+|--upload-file\s+)["']?[^\s"']{0,80}(?:\.ssh\/id_|\.aws\/credentials|\/etc\/shadow|\.npmrc|\.netrc)/,
  },
];

/** Looks for malicious code in what a write-shaped tool would store; other tools are not judged by this lane. */
export function detectMaliciousCode({ tool, texts: { plain } }: LaneInput): Detection {
  if (!isWriteShaped(toolTokens(tool))) return nothingFound;
  const found = new Set<string>();
  for (const { name, gate, pattern } of NEEDLES)
    if (!found.has(name) && gate.some((part) => plain.includes(part)) && pattern.test(plain)) found.add(name);
  if (found.size === 0) return nothingFound;
  return { detected: true, confidence: found.size === 1 ? 0.9 : 0.97, found: [...found] };
}

export const offlineMaliciousCode: ContentDetector = {
  model: 'gate-offline:malicious-code-1',
  detect: detectMaliciousCode,
};
