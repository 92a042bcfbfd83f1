import { words } from '../text.js';
import { runsByEditor } from './editor.js';
import { runsBySetting } from './git-settings.js';

/** Variables that make a program load or run what they name. */
const LOADS = words(
  'LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES BASH_ENV ENV PERL5OPT RUBYOPT PYTHONSTARTUP PERL5DB',
);
/** Variables whose value other programs run. */
const RUN_BY_OTHERS = words(
  `PAGER MANPAGER GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_SSH GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_ASKPASS GIT_PROXY_COMMAND
  SSH_ASKPASS LESSOPEN LESSCLOSE PROMPT_COMMAND`,
);
export const HARMLESS_RUN =
  /^(?:cat|less|more|most|delta|vim?|nvim|nano|emacs|code|ssh|true|false|:)(?: -{1,2}[A-Za-z]{1,16}){0,4}$/;

/** Variables that hold options of a program: of which one that names something may name a program or a library. */
const HOLDS_OPTIONS =
  /^(?:TAR_OPTIONS|NODE_OPTIONS|(?:GNU)?MAKEFLAGS|(?:JDK_|_)?JAVA_(?:TOOL_)?OPTIONS|JAVA_OPTS|(?:MAVEN|GRADLE|SBT)_OPTS)$/;
/** Options that name nothing: letters, numbers, switches, and settings of Java that name no path. */
const NAMES_NOTHING =
  /^(?:\d{1,8}|-[a-zA-EGHJ-Z]{1,8}\d{0,5}|-X(?:mx|ms|mn|ss)\d{1,8}[kKmMgG]?|-XX:[+-]\w{1,64}|-XX:\w{1,64}=[\d.]{1,16}[kKmMgG]?|-XX:(?:HeapDumpPath|ErrorFile)=[\w./%-]{1,256}|-D[\w.-]{1,128}(?:=[\w.-]{0,128})?|--[a-z][a-z-]{1,40}(?:=\d{1,8})?|--(?:unhandled-rejections|dns-result-order|exclude|output-sync|conditions)=[\w.*-]{1,64})$/;
const MOST_OPTIONS = 64;
/** What vi and its like run as they begin. */
const BEGINS_EDITOR = words('VIMINIT GVIMINIT EXINIT');

/** By ssh, with whatever options but those that name a command. */
const BY_SSH = /^(?:\S{0,64}\/)?ssh(?:\s(?!.{0,256}(?:command|[;&|`$]))|$)/is;

/** Whether a program runs or loads what a variable says: editors, pagers, askers for passwords, settings of git, options. */
export function loadsByVariable(name: string, value: string): boolean {
  if (name.startsWith('GIT_CONFIG_KEY_')) return runsBySetting(value);
  if (/^GIT_(?:CONFIG(?:_PARAMETERS|_GLOBAL|_SYSTEM)?|EXEC_PATH|TEMPLATE_DIR)$/.test(name))
    return value !== '/dev/null';
  if (RUN_BY_OTHERS.has(name) || /(?:^|_)(?:PAGER|EDITOR|VISUAL|ASKPASS|BROWSER)$/.test(name))
    return !HARMLESS_RUN.test(value);
  if (name.endsWith('_RSH')) return !BY_SSH.test(value);
  if (LOADS.has(name)) return /[^\s:]/.test(value);
  if (BEGINS_EDITOR.has(name)) return runsByEditor(['-c', value]);
  if (!HOLDS_OPTIONS.test(name)) return false;
  const options = value.trim().split(/\s+/, MOST_OPTIONS + 1);
  if (options.length > MOST_OPTIONS) return true;
  return options.some(
    (option, at) => option !== '' && !NAMES_NOTHING.test(option) && !(at === 0 && isBundle(name, option)),
  );
}

/** `MAKEFLAGS=kj4`: letters of the first word need no sign. */
const isBundle = (name: string, option: string): boolean =>
  name.endsWith('MAKEFLAGS') && /^[a-zA-EG-Z]{1,8}\d{0,5}$/.test(option);

/** Whether git finds its settings, which name programs, in another folder than that of who runs it. */
export const movesSettings = (name: string, value: string): boolean =>
  value !== '' &&
  /^(?:HOME|XDG_CONFIG_HOME|GIT_DIR|GIT_COMMON_DIR)$/.test(name) &&
  !/^(?:\/dev\/null|~|\$\{?HOME\}?|\/root|\/home\/[\w.-]{1,64}|\.git|\$\{?(?:GIT_DIR|XDG_CONFIG_HOME)\}?)\/?$/.test(
    value,
  );
