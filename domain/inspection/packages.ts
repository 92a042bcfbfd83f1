import { type ContentDetector, type Detection, type LaneInput, nothingFound } from './lanes.js';
import { isShellShaped, toolTokens } from '../tool-shape.js';

type Ecosystem = 'npm' | 'pypi' | 'crates' | 'rubygems' | 'go';

const ECOSYSTEM_OF: Readonly<Record<string, Ecosystem>> = {
  npm: 'npm',
  yarn: 'npm',
  pnpm: 'npm',
  bun: 'npm',
  pip: 'pypi',
  pip3: 'pypi',
  pipx: 'pypi',
  poetry: 'pypi',
  uv: 'pypi',
  cargo: 'crates',
  gem: 'rubygems',
  go: 'go',
};

const list = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter((name) => name !== ''));

/** Names that were publicly reported as malicious and removed from their registry. */
const MALICIOUS: Readonly<Record<Ecosystem, ReadonlySet<string>>> = {
  npm: list(`crossenv cross-env.js d3.js fabric-js ffmepg gruntcli http-proxy.js jquery.js mongose mssql.js mssql-node mysqljs
    node-fabric node-opencv node-opensl node-openssl nodecaffe nodefabric nodeffmpeg nodemailer-js nodemailer.js nodemssql
    noderequest nodesass nodesqlite openssl.js proxy.js shadowsock sqlite.js sqliter sqlserver babelcli
    flatmap-stream getcookies electron-native-notify discord.dll twilio-npm loadyaml fallguys lodahs`),
  pypi: list(`colourama djanga diango easyinstall libpeshnka libpeshka libari jeilyfish python3-dateutil acqusition apidev-coop
    setup-tools django-server urlib3 urllib pymafka noblesse genesisbot reqeusts requesst openvc
    pytz3-dev`),
  crates: list('rustdecimal faster_log async_println'),
  rubygems: list('atlas-client bitcoin_vanity pretty_color ruby-bitcoin'),
  go: list('github.com/boltdb-go/bolt'),
};

/** Names that attackers imitate, and well-known similar names that are no imitations. */
const POPULAR: Readonly<Record<Ecosystem, ReadonlySet<string>>> = {
  npm: list(`react react-dom express lodash axios webpack typescript eslint prettier jquery mongoose sequelize nodemailer
    cross-env commander chalk request moment dotenv nodemon vite jest mocha rollup esbuild fastify koa socket.io redux
    next nuxt angular svelte tailwindcss postcss autoprefixer babel-cli puppeteer playwright electron passport bcrypt
    jsonwebtoken winston inquirer rimraf mkdirp uuid underscore bluebird async body-parser cheerio discord.js ethers web3
    @types/node @types/react @babel/core @angular/core`),
  pypi: list(`requests urllib3 numpy pandas scipy matplotlib django flask fastapi pydantic sqlalchemy boto3 botocore setuptools
    cryptography beautifulsoup4 selenium tensorflow torch scikit-learn pillow pyyaml colorama jinja2 click pytest
    python-dateutil jellyfish pytz aiohttp httpx celery redis psycopg2 opencv-python transformers openai anthropic langchain
    paramiko pycryptodome discord.py`),
  crates: list(
    'serde serde_json tokio reqwest rand clap anyhow thiserror rust_decimal regex hyper futures tracing chrono',
  ),
  rubygems: list(
    'rails rack rake bundler nokogiri devise sidekiq rspec puma sinatra faraday rest-client activesupport',
  ),
  go: list('github.com/gin-gonic/gin github.com/spf13/cobra github.com/boltdb/bolt github.com/stretchr/testify'),
};
/** Legitimate names one or two edits away from a popular one. */
const WELL_KNOWN_NEIGHBOURS =
  list(`preact inferno expresso tslint mongodb electrum vuex reflux regexp rackup chronos pyaml openapi
  psycopg psycopg3 jinja beautifulsoup djongo opencv bcryptjs uuidv4 uuidv7 asyncpg `);

/** A package manager's program name at the end of a word. It may follow the end of another command, a quote, or a folder. */
const MANAGER = /(?:^|[;&|"'`($/])(npm|yarn|pnpm|bun|pip3?(?:\.\d{1,4})?|pipx|poetry|uv|cargo|gem|go)$/;
const VERBS: ReadonlySet<string> = new Set(['install', 'add', 'get', 'i']);
const BEFORE_VERB: ReadonlySet<string> = new Set(['global', 'pip']);
const OPTION_WITH_VALUE =
  /^(?:-r|--requirement|-c|--constraint|-i|--index-url|--extra-index-url|--registry|--prefix|-t|--target|--features|--version|-v|--git|--branch|--path)$/;

const LONGEST_ARGUMENT = 512;
const QUOTES = new Set(['"', "'", ',']);

function withoutQuotes(argument: string): string {
  let start = 0;
  let end = Math.min(argument.length, LONGEST_ARGUMENT);
  while (start < end && QUOTES.has(argument[start] as string)) start += 1;
  while (end > start && QUOTES.has(argument[end - 1] as string)) end -= 1;
  return argument.slice(start, end);
}

/** The bare name in `requests[security]==2.1`, `@scope/name@^1` or `serde@1`. Null for paths, addresses and variables. */
function packageName(bare: string): string | null {
  if (/^(?:\.|~|\$|file:|link:)/.test(bare) || isAddress(bare)) return null;
  const name = bare.startsWith('@') ? `@${bare.slice(1).split('@')[0]}` : (bare.split('@')[0] as string);
  const plain = name.split(/[[<>=!~^;]/, 1)[0] as string;
  return /^@?[a-z0-9][a-z0-9._/-]{1,212}$/.test(plain) ? plain : null;
}

/** `https://host/a.whl`, `git+ssh://host/a.git`, `pkg@https://host/a.tgz`, `github:a/b`: nobody keeps a registry of what is there. */
const isAddress = (bare: string): boolean => /:\/\/|^(?:git\+|git@|(?:github|gitlab|bitbucket|gist):)/.test(bare);

/** What one command installs: by its name in a registry, or from an address. */
type Installed =
  | { readonly ecosystem: Ecosystem; readonly name: string }
  | { readonly ecosystem: Ecosystem; readonly address: string };

/** A run without white space, and its position. */
interface Word {
  readonly text: string;
  readonly start: number;
}

/** What command lines in a text install. Reads each word once. */
export function installedBy(plain: string): Installed[] {
  const found: Installed[] = [];
  const words = Array.from(plain.matchAll(/\S+/g), ({ 0: text, index }): Word => ({ text, start: index }));
  const textAt = (at: number): string => words[at]?.text ?? '';
  let at = 0;
  while (at < words.length) {
    const manager = MANAGER.exec(textAt(at).slice(-16))?.[1];
    at += 1;
    if (manager === undefined) continue;
    // Skip options that look like a manager; otherwise the same verb would count for each of them.
    while (textAt(at).startsWith('-')) at += 1;
    const verb = BEFORE_VERB.has(textAt(at)) ? at + 1 : at;
    if (!VERBS.has(textAt(verb))) continue;
    // From the verb on: what stands in the next line is another command.
    const end = endOfCommand(plain, (words[verb] as Word).start + textAt(verb).length);
    const first = verb + 1;
    at = first;
    while (at < words.length && (words[at] as Word).start < end) at += 1;
    const ecosystem = ECOSYSTEM_OF[manager.startsWith('pip') && manager !== 'pipx' ? 'pip' : manager] as Ecosystem;
    let skip = false;
    for (const word of words.slice(first, at)) {
      const argument = word.text.slice(0, end - word.start);
      const isOption = argument.startsWith('-');
      if (!skip && !isOption) {
        const bare = withoutQuotes(argument);
        const name = packageName(bare);
        if (name !== null) found.push({ ecosystem, name: ecosystem === 'pypi' ? name.replaceAll('_', '-') : name });
        else if (isAddress(bare)) found.push({ ecosystem, address: bare });
      }
      skip = isOption && OPTION_WITH_VALUE.test(argument);
    }
    // The word in which the command ended may name the next program, as in `a;npm`.
    if (at > first && (words[at - 1] as Word).start + textAt(at - 1).length > end) at -= 1;
  }
  return found;
}

const ENDS_COMMAND = new Set(['\n', ';', '&', '|', '`', ')']);
function endOfCommand(text: string, from: number): number {
  let end = from;
  while (end < text.length && !(ENDS_COMMAND.has(text[end] as string) && !isContinued(text, end))) end += 1;
  return end;
}

/** A line that ends with a backslash goes on in the next one. */
const isContinued = (text: string, at: number): boolean => text[at] === '\n' && text[at - 1] === '\\';

/** Edits between two short names; swapping neighbours counts as one. Returns `limit + 1` when there are more than `limit`. */
export function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min((last[j] as number) + 1, (row[j - 1] as number) + 1, (last[j - 1] as number) + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, (beforeLast[j - 2] as number) + 1);
      row.push(best);
    }
    beforeLast = last;
    last = row;
  }
  return Math.min(last[b.length] as number, limit + 1);
}

/** The popular name that this one imitates; null for short names, which have too many legitimate neighbours. */
function imitated(ecosystem: Ecosystem, name: string): string | null {
  if (POPULAR[ecosystem].has(name) || WELL_KNOWN_NEIGHBOURS.has(name) || name.length < 5) return null;
  for (const other of POPULAR[ecosystem]) {
    const allowed = other.length >= 9 ? 2 : other.length >= 5 ? 1 : 0;
    if (allowed > 0 && editDistance(name, other, allowed) <= allowed) return other;
  }
  return null;
}

const MAX_PACKAGES = 500;

/** Packages that a command line would install and that are known as malicious or imitate a popular name. */
export function detectCompromisedPackage({ tool, texts }: LaneInput): Detection {
  if (!isShellShaped(toolTokens(tool))) return nothingFound;
  const packages = installedBy(texts.plain).filter((one) => 'name' in one);
  const known = packages.find(({ ecosystem, name }) => MALICIOUS[ecosystem].has(name));
  if (known) return { detected: true, confidence: 0.95, found: [`known_malicious:${known.name}`] };
  for (const { ecosystem, name } of packages.slice(0, MAX_PACKAGES)) {
    const target = imitated(ecosystem, name);
    if (target !== null) return { detected: true, confidence: 0.75, found: [`typosquat:${name}~${target}`] };
  }
  // Nobody installs this many packages in one command line. Packages that are not checked are not allowed.
  if (packages.length > MAX_PACKAGES) return { detected: true, confidence: 0.6, found: ['too_many_packages'] };
  return nothingFound;
}

export const offlineCompromisedPackage: ContentDetector = {
  model: 'gate-offline:compromised-package-2',
  detect: detectCompromisedPackage,
};
