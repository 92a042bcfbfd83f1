import { words } from '../text.js';
import { fits, fitsAny, mayBegin, type Segment } from './patterns.js';
import { type MayRead, type Place, placesOf } from './places.js';

const BELOW_ROOT = words('etc boot bin sbin lib lib32 lib64 libx32 usr root proc sys');
const VITAL_FOLDERS = words('.ssh .aws .kube');
/** What shells and sessions run when they start. */
const VITAL_FILES = words(
  `.bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin .zlogout .xprofile .xsession .xinitrc
  .pam_environment .netrc .bash_aliases .gitconfig`,
);
const VITAL_WITHIN: readonly (readonly [folder: string, name: string])[] = [
  ['.config', 'autostart'],
  ['.config', 'systemd'],
  ['.config', 'git'],
  // What git runs.
  ['.git', 'hooks'],
  ['.git', 'config'],
  // What a service runs with its own keys at the next push.
  ['.github', 'workflows'],
];
/** Whoever writes to one of these commands the service behind it, which is the machine's own. */
const SOCKETS = words('docker.sock podman.sock containerd.sock crio.sock');
const SYSTEM_SECRETS = words('shadow gshadow sudoers master.passwd');
/** Behind what folder which names hold secrets, each by its beginning. */
const SECRETS: readonly (readonly [folder: string, name: string])[] = [
  ...[...SYSTEM_SECRETS].map((name) => ['etc', name] as const),
  ['ssh', 'ssh_host_'],
  ['run', 'secrets'],
  // The memory of the machine.
  ['proc', 'kcore'],
];
/** What a process holds. */
const OF_PROCESSES = ['environ', 'mem'];
const SECRET_FOLDERS = words('.ssh .gnupg .aws .kube .docker .azure');
const SECRET_FILES = words(
  `.env .netrc .pgpass .npmrc .pypirc .git-credentials id_rsa id_dsa id_ecdsa id_ed25519 credentials credentials.json`,
);
const SECRET_FILE =
  /^(?:\.env\.(?!(?:example|sample|template|dist)$)[\w.-]{1,32}|secrets?\.(?:ya?ml|json|env|txt)|.{1,128}\.(?:pem|key|p12|pfx|jks|kdbx|keystore))$/s;
/** A pattern says little where it has fewer characters of its own: `src/*` is no search for keys. */
const LEAST_SAID = 2;
const DISKS = [...words('sd hd vd xvd nvme mmcblk disk mapper dm- md loop mem kmem port nst rdisk')];
const HOMES = words('~ $home ${home} %userprofile%');

/** Schemes of addresses that no program opens as files of its own machine. */
const ADDRESS =
  /^(?:https?|wss?|ftps?|sftp|ssh|git(?:\+(?:https?|ssh))?|s3|gs|rediss?|postgres(?:ql)?|mysql|mongodb(?:\+srv)?|amqps?):\/\/[^/.\\]/i;
const SCHEME = /^[a-z][a-z0-9+.-]{1,31}:/i;
export const isAddress = (text: string): boolean => ADDRESS.test(text);
/** Whether a text begins like an address that may be opened as anything: `gopher://x`, `php://filter`, `jar:file:/x`. */
export const hasOtherScheme = (text: string): boolean =>
  SCHEME.test(text) && /^[^:]{1,32}:(?:\/\/|[a-z]{2,16}:)/i.test(text) && !isAddress(text) && !/^file:/i.test(text);

/** Whether only whoever opens it knows what a path names: `$DIR/a`, `%TEMP%\a`, `$(x)/a`. */
export const isUnsure = (path: string): boolean => /\$[\w{(@*!?#$-]|%[A-Za-z_]\w{0,63}%|`/.test(path);

/** What a shell has for the folder that it is in, was in, or has put aside; the folder of a process. */
const STANDS_FOR_FOLDER = /^(?:~[+-]?\d{0,9}(?<=[-+\d])|\/proc\/(?:self|\d{1,9})\/cwd)(?=\/|$)/;
export const namesEntered = (path: string): boolean => STANDS_FOR_FOLDER.test(path);

/** A path as it is from a folder. */
export const inFolder = (folder: string, path: string): string => {
  const stands = STANDS_FOR_FOLDER.exec(path)?.[0];
  if (stands !== undefined) return folder + path.slice(stands.length);
  return /^(?:[/\\~]|[a-z]:|file:)/i.test(path) ? path : `${folder}/${path}`;
};

interface Known {
  readonly places: readonly Place[] | null;
  readonly answers: Map<Holds, boolean>;
}
type Holds = (place: Place) => boolean;

/**
 * What paths name, however they are spelled. Every spelling that some program, shell or system reads as the path counts, because nobody knows
 * which of them reads it. Each path is read once, and what it expands to is paid for: a path that cannot be read counts as the worst.
 */
export class Paths {
  readonly #known = new Map<string, Known>();

  constructor(private readonly mayRead: MayRead) {}

  /** A file that controls access or how the system and its shells start, or the folder of such files. */
  isVitalFile(path: string): boolean {
    return this.#isOf(path, isVital);
  }
  /** A file that holds passwords or keys. */
  isSecretFile(path: string): boolean {
    return this.#isOf(path, isSecret) || this.isDisk(path);
  }
  /** A folder below which such files lie. */
  isSecretFolder(path: string): boolean {
    return this.#isOf(path, holdsSecrets) || this.isSecretFile(path);
  }
  /** A disk or memory device. */
  isDisk(path: string): boolean {
    return /^\\\\\.\\physicaldrive/i.test(path) || this.#isOf(path, isDisk);
  }
  /** The root, or everything in it. */
  isRootFolder(path: string): boolean {
    return /^[/\\]/.test(path) && this.#isOf(path, isRoot);
  }
  /** Whether what lies in a folder may be vital or hold secrets by its name alone. */
  isVitalFolder(folder: string): boolean {
    return this.isVitalFile(folder) || this.isSecretFolder(folder) || this.#isOf(`${folder}/`, mayLeadToVital);
  }

  /** The same path as every reader may have it, as one text each: `/etc/passwd`, `c:/windows`, `~/.ssh`, `.`. Null where it cannot be read. */
  spelledOut(path: string): readonly string[] | null {
    return this.#read(path).places?.map(spelled) ?? null;
  }

  #isOf(path: string, holds: Holds): boolean {
    // From here on it has a way out of its server's name, if some program takes it for a path.
    const isRemote = isAddress(path);
    if (isRemote && !path.includes('..')) return false;
    const { places, answers } = this.#read(path);
    if (places === null) return true;
    const known = answers.get(holds);
    if (known !== undefined) return known;
    const answer = places.some((place) => (!isRemote || place.isRooted) && holds(place));
    answers.set(holds, answer);
    return answer;
  }

  #read(path: string): Known {
    const known = this.#known.get(path);
    if (known !== undefined) return known;
    const read: Known = { places: placesOf(path, this.mayRead), answers: new Map() };
    this.#known.set(path, read);
    return read;
  }
}

/** The folder that a path starts from has no segments, and its name is not that of the root. */
const spelled = ({ segments, isRooted }: Place): string =>
  !isRooted && segments.length === 0 ? '.' : `${isRooted ? '/' : ''}${segments.map(({ text }) => text).join('/')}`;

const isVital: Holds = ({ segments, isRooted }) =>
  (isRooted &&
    (fitsAny(segments[0], BELOW_ROOT) ||
      (fits(segments[0], 'run') && fitsAny(segments.at(-1), SOCKETS)) ||
      (fits(segments[0], 'var') && fits(segments[1], 'spool') && fits(segments[2], 'cron')))) ||
  segments.some(
    (segment, at) =>
      isHidden(segment) &&
      (fitsAny(segment, VITAL_FOLDERS) ||
        VITAL_WITHIN.some(([folder, name]) => fits(segment, folder) && fits(segments[at + 1], name)) ||
        (at === segments.length - 1 && fitsAny(segment, VITAL_FILES))),
  ) ||
  segments[0]?.text === '~root';
const isHidden = ({ text }: Segment): boolean => text.startsWith('.');

const mayLeadToVital: Holds = ({ segments, isRooted }) => {
  const [first, second] = segments;
  if (VITAL_WITHIN.some(([folder]) => fits(segments.at(-1), folder))) return true;
  if (!isRooted) return false;
  if (fits(first, 'run')) return segments.length <= 2;
  return first === undefined || (fits(first, 'var') && (second === undefined || fits(second, 'spool')));
};

const isSecret: Holds = ({ segments }) =>
  segments.some((segment, at) => {
    const next = segments[at + 1];
    if (says(segment) && fitsAny(segment, SECRET_FOLDERS)) return true;
    if (next === undefined) return says(segment) && (fitsAny(segment, SECRET_FILES) || SECRET_FILE.test(segment.text));
    // `*/*.md` may be anything at all, which is no search for keys.
    const isMeant = says(segment) || saysFirst(next);
    if (isMeant && SECRETS.some(([folder, name]) => fits(segment, folder) && (fits(next, name) || isBegun(next, name))))
      return true;
    return (
      fits(segment, 'proc') &&
      segments.slice(at + 2, at + 5).some((last) => OF_PROCESSES.some((name) => fits(last, name)))
    );
  });
/** `shadow-`, `ssh_host_*`. */
const isBegun = (segment: Segment, name: string): boolean =>
  segment.pattern === null || says(segment) ? mayBegin(segment, name) : false;
/** Whether it says something before its first sign that stands for anything. */
const saysFirst = ({ text, pattern }: Segment): boolean => pattern === null || text.search(/[*?[{(@+!]/) >= LEAST_SAID;
const says = ({ text, pattern }: Segment): boolean =>
  pattern === null || text.replaceAll(/[*?]/g, '').length >= LEAST_SAID;

/** The root and homes, and what lies in them and has secrets. */
const holdsSecrets: Holds = ({ segments, isRooted }) => {
  const [first, second, third] = segments;
  if (first === undefined) return isRooted;
  if (second === undefined && (HOMES.has(first.text) || first.text.startsWith('~'))) return true;
  if (!isRooted) return false;
  if (fits(first, 'home')) return third === undefined;
  if (second === undefined) return fitsAny(first, HOLDS_SECRETS);
  return fits(first, 'etc') && fits(second, 'ssh') && third === undefined;
};
const HOLDS_SECRETS = words('etc root proc run users');

const isDisk: Holds = ({ segments: [first, second], isRooted }) =>
  isRooted && fits(first, 'dev') && DISKS.some((name) => mayBegin(second, name));
const isRoot: Holds = ({ segments: [first, second] }) =>
  second === undefined && (first === undefined || first.text === '*');
