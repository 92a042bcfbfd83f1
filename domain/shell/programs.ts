import type { ShellAct } from './acts.js';
import type { Command } from './command.js';
import type { Paths } from './paths.js';
import { words } from '../text.js';
import { runsAnother } from './awk.js';
import { runsBySetting } from './git-settings.js';
import { runsBySed } from './sed.js';
import { runsByEditor, writtenByEditor } from './editor.js';
import { changesVital } from './touches.js';

/**
 * From the least to the worst. `changes` destroys, stops or alters something. `takes_over` runs code from elsewhere, gives somebody a
 * shell, or overwrites a disk. `removes_root` removes a root folder, a home folder or everything.
 */
export type ShellEffect = 'changes' | 'takes_over' | 'removes_root';

export interface ShellReading {
  readonly effect: ShellEffect;
  readonly act: ShellAct;
}

/** A call of a program, with its prefixes (sudo, env, nohup) removed. */
export interface Call {
  /** In lower case, without folder and `.exe`. */
  readonly program: string;
  readonly args: readonly string[];
  readonly command: Command;
  readonly paths: Paths;
}

type Judge = (call: Call) => ShellReading | null;

const changes = (act: ShellAct): ShellReading => ({ effect: 'changes', act });
const takesOver = (act: ShellAct): ShellReading => ({ effect: 'takes_over', act });

const isOption = (arg: string): boolean => arg.length > 1 && arg.startsWith('-');
const isName = (arg: string): boolean => /^[a-z][\w.-]{1,30}$/.test(arg);
const plainArgs = (args: readonly string[]): readonly string[] => args.filter((arg) => !isOption(arg));

/** Whether one of the options is given. Short options may be combined: `-rf` gives r and f. */
const gives = (args: readonly string[], letters: string, ...long: readonly string[]): boolean =>
  args.some((arg) =>
    arg.startsWith('--')
      ? long.includes(arg.split('=', 1)[0] as string)
      : isOption(arg) && (long.includes(arg) || Array.from(arg.slice(1, 9)).some((letter) => letters.includes(letter))),
  );

/** The values of options, in the same word or the next: `-so x`, `-ox`, `--outp=x`. */
const valuesOf = (args: readonly string[], letters: string, ...long: readonly string[]): readonly string[] =>
  args.flatMap((arg, at) => {
    const next = args[at + 1] ?? '';
    if (arg.startsWith('--')) {
      const [name = ''] = arg.split('=', 1);
      if (name.length < 5 || !long.some((one) => one.startsWith(name))) return [];
      return [name === arg ? next : arg.slice(name.length + 1)];
    }
    const own = isOption(arg) ? Array.from(arg.slice(1, 9)).findIndex((letter) => letters.includes(letter)) : -1;
    return own < 0 ? [] : [arg.slice(own + 2) || next];
  });

const ROOTS = words(
  '/ /* /. // /./ /.. ~ ~/ ~/* $HOME $HOME/ $HOME/* * ./* . .. c:/ c:\\ c:\\* c:/* %systemdrive% --no-preserve-root',
);
const isRoot = (target: string, paths: Paths): boolean => ROOTS.has(target) || paths.isRootFolder(target);
/** Whatever program it is that has a vital path among its words, or writes one. */
export const CHANGES_SYSTEM: ShellReading = { effect: 'changes', act: 'system_written' };

const removal: Judge = ({ args, paths }) => {
  const recursive = gives(args, 'rR', '--recursive', '-recurse', '-r');
  const forced = gives(args, 'f', '--force', '-force');
  const targets = plainArgs(args);
  if (
    args.includes('--no-preserve-root') ||
    (recursive && forced && targets.some((one) => isRoot(one, paths) && one !== '.' && one !== '..'))
  )
    return { effect: 'removes_root', act: 'root_removed' };
  const reaching = targets.some((one) => /^[/~$.*]|[*?]$|^[a-z]:/i.test(one));
  return targets.length > 0 && (recursive || forced || reaching) ? changes('files_removed') : null;
};

/**
 * For programs whose second word says what they do. `alone` lists the changing words that need no object, `withObject` those that need one.
 */
const spoken = (act: ShellAct, alone: string, withObject = ''): Judge => {
  const bare = words(alone);
  const transitive = words(withObject);
  return ({ args }) => {
    const plain = plainArgs(args);
    return plain.some((word) => bare.has(word)) || plain.slice(0, -1).some((word) => transitive.has(word))
      ? changes(act)
      : null;
  };
};

const always =
  (act: ShellAct, least = 1): Judge =>
  ({ args }) =>
    args.length >= least ? changes(act) : null;

const withOption =
  (act: ShellAct, letters: string, ...long: readonly string[]): Judge =>
  ({ args }) =>
    gives(args, letters, ...long) ? changes(act) : null;

const overwritesDisk = takesOver('disk_written');

/** Programs whose first word is what they look for, unless an option has it. */
const SEEKERS = words('grep egrep fgrep zgrep rg ag ack');
const SOUGHT = /^(?:-[a-zA-Z]{0,8}[ef]|--(?:regexp|file)(?:=|$))/;
const RECURSES = /^(?:-[a-zA-Z]{0,8}[rR]|--(?:dereference-)?recursive$|(?:--directories=|-d)?recurse$)/;
const RECURSIVE = words('rg ag ack');

/** `--file=/etc/shadow`, `-f/etc/shadow` name a file too. */
const namesOf = (arg: string): readonly string[] =>
  isOption(arg) ? [arg, arg.slice(2), arg.slice(arg.indexOf('=') + 1)] : [arg];
/** Whether a program that reads files reads some that hold secrets, or all in a folder that has such. */
export function readsSecrets({ program, args, paths }: Omit<Call, 'command'>): boolean {
  const first =
    SEEKERS.has(program) && !args.some((arg) => SOUGHT.test(arg)) ? args.findIndex((arg) => !isOption(arg)) : -1;
  const isRecursive =
    RECURSIVE.has(program) || (/^(?:[ef]?grep|zgrep|diff)$/.test(program) && args.some((arg) => RECURSES.test(arg)));
  return args.some(
    (arg, at) =>
      at !== first &&
      namesOf(arg).some(
        (one) => paths.isSecretFile(one) || (isRecursive && !isOption(one) && paths.isSecretFolder(one)),
      ),
  );
}
const readsFile: Judge = (call) => (readsSecrets(call) ? changes('secrets_read') : null);

const SQL_CHANGES =
  /\b(?:drop|delete|truncate|update|alter|insert|grant|revoke|create|copy|replace|merge|into\soutfile|load_file|lo_export|xp_cmdshell)\b/i;
/** A database client with a statement in an argument. Words are enough to judge it, because nobody writes prose after this program. */
const CLIENT_RUNS =
  /(?:^|[\s;])\\!\s{0,4}\S|(?:^|[\n;])\s{0,4}(?:pager\s|\\P\s)\s{0,4}(?!less\b|more\b|cat\b)[\w/.~]|\b(?:to|from)\s{1,4}program\b|(?:^|\n)\s{0,4}(?:\.(?:shell|system|sh)|system|!)\s{1,4}\S/i;
const PAGES_BY = /^--pager=(?!(?:\/(?:usr\/)?bin\/)?(?:less|more|most|cat)(?: -[A-Za-z]{1,8})?$)./s;
const sqlProgram: Judge = ({ args }) =>
  args.some((arg) => CLIENT_RUNS.test(arg) || PAGES_BY.test(arg))
    ? takesOver('runs_inside')
    : args.some((arg) => SQL_CHANGES.test(arg) && arg.includes(' '))
      ? changes('statement_changes')
      : null;

const MONGO_CHANGES =
  /\b(?:drop|dropDatabase|dropDatabase\(\)|deleteMany|deleteOne|remove|updateMany|updateOne|insertMany|insertOne|replaceOne|shutdownServer|dropUser|createUser|renameCollection|bulkWrite|findOneAndDelete)\s?\(/;
const mongo: Judge = ({ args }) => (args.some((arg) => MONGO_CHANGES.test(arg)) ? changes('database_changed') : null);

const CODE_ACTS =
  /\b(?:os\.(?:system|popen|remove|unlink|rmdir|removedirs|exec[lv]p?e?|spawn\w{1,4}|kill|fork)|subprocess|shutil\.(?:rmtree|move)|pty\.spawn|socket|__import__|exec|eval|system|popen|passthru|shell_exec|proc_open|fsockopen|child_process|execSync|spawnSync|rmSync|unlinkSync|unlink|rmtree|FileUtils|Runtime|TCPSocket|fork|urlopen|base64|b64decode|kernel\.exec|io\.popen|os\.execute|%x)\b|`/i;
const TAKES_OVER_CODE = /\b(?:socket|fsockopen|TCPSocket|pty\.spawn|urlopen|base64|b64decode|fork)\b/i;
/** Code that is given a vital path may do anything with it. */
const IN_QUOTES = /["']([^"'\n]{1,256})["']/g;
/** An interpreter that takes its program as an argument. */
const codeRunner =
  (letters: string): Judge =>
  ({ args, paths }) => {
    const at = args.findIndex(
      (arg) =>
        isOption(arg) &&
        !arg.startsWith('--') &&
        Array.from(arg.slice(1, 6)).some((letter) => letters.includes(letter)),
    );
    const code = at < 0 ? args.find((arg) => /^--(?:eval|exec|print)/.test(arg)) : args.slice(at).join(' ');
    if (code === undefined) return null;
    if (!CODE_ACTS.test(code))
      return [...code.matchAll(IN_QUOTES)].some(([, text = '']) => /[/~.]/.test(text) && paths.isVitalFile(text))
        ? CHANGES_SYSTEM
        : null;
    return TAKES_OVER_CODE.test(code) ? takesOver('code_reaches_out') : changes('code_runs');
  };

const cloudWords =
  /^(?:delete|terminate|deregister|detach|purge|remove|revoke|disable|cancel|stop|reboot|reset|release|disassociate|unsubscribe|destroy|rm|rb|deallocate|attach|put|create|update|modify|add|set|run|authorize|start|restore|import|change|schedule)(?:-|$)/;
const cloudReads = /^(?:get|list|describe|show|ls|head|help|wait|search|lookup|batch-get|query|scan)(?:-|$)/;
/** `aws s3 rm`, `gcloud sql instances delete`, `az group delete`: the first word that is a known verb decides. */
const cloud: Judge = ({ args }) => {
  const plain = plainArgs(args).slice(0, 6);
  const verb = plain.slice(1).find((word) => cloudWords.test(word) || cloudReads.test(word));
  if (plain.includes('sync') && args.includes('--delete')) return changes('cloud_changed');
  return verb !== undefined && cloudWords.test(verb) ? changes('cloud_changed') : null;
};

const RUNS_ANOTHER = takesOver('runs_inside');

/** The arguments from the verb on. `isSure`: no option stands before it that may take a value and is not known. */
function behindOptions(
  args: readonly string[],
  valued: ReadonlySet<string>,
  flags: ReadonlySet<string>,
): { readonly rest: readonly string[]; readonly isSure: boolean } {
  let at = 0;
  let isSure = true;
  for (let arg = args[at]; arg !== undefined && isOption(arg); arg = args[at]) {
    at += valued.has(arg) ? 2 : 1;
    const isWhole = arg.includes('=') || (!arg.startsWith('--') && arg.length > 2 && valued.has(arg.slice(0, 2)));
    isSure &&= isWhole || valued.has(arg) || flags.has(arg);
  }
  return { rest: args.slice(at), isSure };
}

/** Options of git by which a program is named, cut short or not, and addresses that are a command. */
const GIT_RUNS = /^ext::|^--(?:upl|rece|exe(?!c-path$)|[a-z-]{1,32}-(?:cmd|hook)(?:=|$))|^--templ[a-z]{0,3}=/;
/** `-c a.b=c`, `-ca.b=c`, `--config a.b=c`, `--config-env=a.b=X`: before the verb, and behind that of a clone. */
const settingsIn = (args: readonly string[]): readonly string[] =>
  args.flatMap((arg, at) => {
    const option = /^(?:-c|--config(?:-env)?)(?:=|$)|^-c(?=[A-Za-z])/.exec(arg)?.[0];
    if (option === undefined) return [];
    const setting = arg === option ? (args[at + 1] ?? '') : arg.slice(option.length);
    return /^[A-Za-z][\w-]{0,64}\./.test(setting) ? [setting] : [];
  });
const GIT_VALUED = words(
  '-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env --attr-source',
);
const GIT_FLAGS = words(
  '-p -P --paginate --no-pager --bare --no-replace-objects --no-optional-locks --literal-pathspecs',
);
const git: Judge = ({ args }) => {
  if (args.some((arg) => GIT_RUNS.test(arg))) return RUNS_ANOTHER;
  const { rest, isSure } = behindOptions(args, GIT_VALUED, GIT_FLAGS);
  const before = args.slice(0, args.length - rest.length);
  if ([...settingsIn(before), ...settingsIn(rest).filter((one) => one.includes('='))].some(runsBySetting))
    return RUNS_ANOTHER;
  // Behind an option that is not known, its value or the word after it may be the verb.
  for (const at of isSure ? [0] : [0, 1]) {
    const found = gitVerb(rest.slice(at));
    if (found !== null) return found;
  }
  return null;
};
const gitVerb = (args: readonly string[]): ShellReading | null => {
  const plain = plainArgs(args);
  const verb = plain[0] ?? '';
  const after = args.slice(args.indexOf(verb) + 1);
  const kind = changes('history_lost');
  switch (verb) {
    case 'clone':
      return gives(after, 'u') ? RUNS_ANOTHER : null;
    case 'submodule':
      return plain[1] === 'foreach' && plain.length > 2 ? RUNS_ANOTHER : null;
    case 'bisect':
      return plain[1] === 'run' && plain.length > 2 ? RUNS_ANOTHER : null;
    case 'rebase':
    case 'difftool':
      return after.some((arg) => /^(?:-[a-zA-Z]{0,8}x|--ex)/.test(arg)) ? RUNS_ANOTHER : null;
    case 'send-email':
      return after.some((arg) => /^--(?:send|to-c|cc-c|header-c|smtp-server=[/~.])/.test(arg)) ? RUNS_ANOTHER : null;
    case 'grep':
      return after.some((arg) => /^(?:-[a-zA-Z]{0,8}O|--open)/.test(arg)) ? RUNS_ANOTHER : null;
    case 'push':
      return gives(after, 'fd', '--force', '--force-with-lease', '--delete', '--mirror', '--prune') ||
        plain.slice(2).some((ref) => /^[+:]./.test(ref))
        ? kind
        : null;
    case 'reset':
      return after.includes('--hard') ? kind : null;
    case 'clean':
      return gives(after, 'fxX', '--force') ? kind : null;
    case 'branch':
      return gives(after, 'D', '--delete') && plain.length > 1 ? kind : null;
    case 'tag':
    case 'update-ref':
    case 'remote':
      return gives(after, 'd', '--delete') || ['remove', 'rm', 'set-url'].includes(plain[1] ?? '') ? kind : null;
    case 'checkout':
    case 'restore':
      return (after.includes('--') && plain.at(-1) === '.') || (verb === 'checkout' && gives(after, 'f', '--force'))
        ? kind
        : null;
    case 'stash':
      return ['drop', 'clear'].includes(plain[1] ?? '') ? kind : null;
    case 'filter-branch':
    case 'filter-repo':
      return kind;
    case 'reflog':
      return ['expire', 'delete'].includes(plain[1] ?? '') ? kind : null;
    case 'gc':
      return after.some((arg) => arg.startsWith('--prune')) ? kind : null;
    case 'rm':
      return gives(after, 'rf') ? kind : null;
    case 'config':
      return setsCommand(after) ? takesOver('runs_later') : null;
    default:
      return null;
  }
};

const CONFIG_VALUED = words('-f --file --type --blob --default --comment --value');
/** `git config filter.a.clean x`, `git config set a.b x`. */
function setsCommand(args: readonly string[]): boolean {
  if (args.some((arg) => /^--(?:get|list|unset|remove|rename|show)|^-l$/.test(arg))) return false;
  const plain = args.filter((arg, at) => !isOption(arg) && !CONFIG_VALUED.has(args[at - 1] ?? ''));
  const [key = '', value] = plain[0] === 'set' ? plain.slice(1) : plain;
  return value !== undefined && key.includes('.') && runsBySetting(`${key}=${value}`);
}

const KUBE_CHANGES = words(
  `delete exec apply create run edit rollout expose set label annotate debug cp port-forward drain cordon uncordon taint replace patch
  evict attach scale certificate reconcile approve deny`,
);
const KUBE_READS = words(
  'get describe logs top explain version diff events api-resources api-versions cluster-info can-i whoami view',
);
/** `config delete-context`, `config set-cluster`, `config use`. */
const KUBE_SETS = /^(?:delete|set|unset|use|rename)(?:-|$)/;
const isKubeChange = (word: string, before: string | undefined): boolean =>
  KUBE_CHANGES.has(word) || (before === 'config' && KUBE_SETS.test(word));
const KUBE_VALUED = words(
  `-n --namespace --context --cluster --user --kubeconfig -s --server --token --as --as-group --as-uid --request-timeout --cache-dir
  --certificate-authority --client-certificate --client-key --tls-server-name --profile --profile-output -v --v`,
);
const KUBE_FLAGS = words('--insecure-skip-tls-verify --match-server-version --warnings-as-errors');
const kube: Judge = ({ args }) => {
  const { rest, isSure } = behindOptions(args, KUBE_VALUED, KUBE_FLAGS);
  const plain = plainArgs(rest);
  const at = plain.findIndex((word, place) => isKubeChange(word, plain[place - 1]));
  const reading = plain.findIndex((word) => KUBE_READS.has(word));
  if (at < 0 || (isSure && reading >= 0 && reading < at)) return null;
  if (plain[at] === 'rollout' && ['status', 'history'].includes(plain[at + 1] ?? '')) return null;
  return args.length > 1 ? changes('cluster_changed') : null;
};

const DOCKER_VALUED = words(
  '--config -c --context -H --host -l --log-level --tlscacert --tlscert --tlskey --connection --url --identity --root --runroot --namespace -n --address -a',
);
const DOCKER_FLAGS = words('-D --debug --tls --tlsverify --remote -r');
const docker: Judge = (call) => {
  const { rest, isSure } = behindOptions(call.args, DOCKER_VALUED, DOCKER_FLAGS);
  for (const at of isSure ? [0] : [0, 1]) {
    const found = dockerVerb({ ...call, args: rest.slice(at) });
    if (found !== null) return found;
  }
  return null;
};
const dockerVerb: Judge = (call) => {
  const { args } = call;
  const plain = plainArgs(args);
  const [verb = '', next = ''] = plain;
  const kind = changes('containers_changed');
  if (verb === 'cp' && call.paths.isVitalFile(plain.at(-1) ?? '')) return changes('system_written');
  if (verb === 'run' || verb === 'create')
    return args.some(
      (arg, at) =>
        arg === '--privileged' ||
        /^--(?:pid|ipc|userns)[= ]host$/.test(`${arg}${arg.includes('=') ? '' : ` ${args[at + 1] ?? ''}`}`) ||
        (/^(?:-v|--volume|--mount)/.test(arg) &&
          /(?:^|[= ])\/(?:[:,]|etc|var\/run\/docker|root|$)/.test(`${arg} ${args[at + 1] ?? ''}`)),
    )
      ? takesOver('host_container')
      : null;
  if (['rm', 'rmi', 'kill', 'exec', 'stop', 'restart', 'pause', 'update', 'push'].includes(verb))
    return plain.length > 1 || gives(args, 'a', '--all') || call.command.words.some((word) => word.runs.length > 0)
      ? kind
      : null;
  if (
    [
      'system',
      'volume',
      'image',
      'container',
      'network',
      'builder',
      'service',
      'stack',
      'node',
      'secret',
      'config',
    ].includes(verb)
  )
    return ['prune', 'rm', 'remove', 'kill', 'stop', 'update'].includes(next) ? kind : null;
  if (verb === 'swarm') return ['leave', 'init', 'join'].includes(next) ? kind : null;
  if (verb === 'compose') return plain.includes('down') || plain.includes('rm') || plain.includes('kill') ? kind : null;
  return null;
};

const GH_VALUED = words('-R --repo --hostname -g --group');
const gh: Judge = ({ args }) => {
  const { rest, isSure } = behindOptions(args, GH_VALUED, words('--help'));
  for (const at of isSure ? [0] : [0, 1]) {
    const [noun = '', ...behind] = rest.slice(at);
    if (noun === 'api' && asksToChange(behind)) return changes('repository_changed');
    if (noun === 'alias' && behind.some((arg) => /^(?:!|-s$|--shell$)/.test(arg))) return RUNS_ANOTHER;
    const said = behindOptions(behind, GH_VALUED, words('--help'));
    for (const from of said.isSure ? [0] : [0, 1]) {
      const found = ghVerb(noun, said.rest.slice(from), args.length);
      if (found !== null) return found;
    }
  }
  return null;
};
const FIELDS = /^(?:-[fF]|--(?:field|raw-field|input)(?:=|$))/;
/** `api -X DELETE x`, `api --paginate x -f a=b`: fields make a POST of it, but those of a query of GraphQL. */
const asksToChange = (args: readonly string[]): boolean => {
  const methods = valuesOf(args, 'X', '--method');
  if (methods.length > 0) return methods.some((method) => !/^(?:get|head)$/i.test(method));
  return args.includes('graphql') ? args.some((arg) => /\bmutation\b/.test(arg)) : args.some((arg) => FIELDS.test(arg));
};
const ghVerb = (noun: string, args: readonly string[], given: number): ShellReading | null =>
  (/^(?:repo|release|secret|variable|run|workflow|gist|issue|label|ssh-key)$/.test(noun) &&
    /^(?:delete|remove|archive|disable|transfer|set|edit|rename)$/.test(args[0] ?? '') &&
    given > 2) ||
  (noun === 'pr' && args[0] === 'merge')
    ? changes('repository_changed')
    : null;

const compose: Judge = ({ args }) =>
  plainArgs(args).some((word) => ['down', 'rm', 'kill'].includes(word)) ? changes('containers_changed') : null;

const infrastructure: Judge = ({ args }) => {
  const plain = plainArgs(args);
  const kind = changes('infrastructure_changed');
  if (plain.includes('destroy') || plain.includes('force-unlock') || plain.includes('taint')) return kind;
  if (plain.includes('apply') || plain.includes('up') || plain.includes('run-all'))
    return args.some((arg) =>
      /^-{1,2}(?:auto-approve|destroy|yes|y|skip-preview|terragrunt-non-interactive|auto)/.test(arg),
    )
      ? kind
      : null;
  if (plain[0] === 'state' || plain[0] === 'workspace')
    return ['rm', 'mv', 'push', 'delete', 'remove', 'replace-provider'].includes(plain[1] ?? '') ? kind : null;
  return plain[0] === 'stack' && plain[1] === 'rm' ? kind : null;
};

const sendsHttp: Judge = ({ program, args: given, paths }) => {
  // curl takes short options together: -sX DELETE, -sXDELETE. The method is the first word of the others.
  const args = given.map((arg) => (program === 'curl' ? arg.replace(/^-[a-zA-WYZ0-9#]{1,16}X/, '-X') : arg));
  if (
    /^(?:http|https|xh)$/.test(program) &&
    /^(?:delete|put|patch|post)$/i.test(plainArgs(args)[0] ?? '') &&
    args.length > 1
  )
    return changes('request_changes');
  const at = args.findIndex((arg) => arg === '-X' || /^--req(?:u|ue|uest?)?$/.test(arg));
  const method =
    (at >= 0
      ? args[at + 1]
      : args.find((arg) => /^-X[A-Z]|^--(?:request|method)=/.test(arg))?.replace(/^-X|^--(?:request|method)=/, '')) ??
    '';
  if (/^(?:delete|put|patch|post)$/i.test(method)) return changes('request_changes');
  const sends =
    program === 'wget'
      ? args.some((arg) => /^--(?:post-file|post-data|body-file|body-data)/.test(arg))
      : args.some((arg) =>
          /^(?:-d|-F|-T|--data(?:-raw|-binary|-urlencode|-ascii)?|--form|--upload-file|--json)(?:$|=|@)/.test(arg),
        );
  if (sends) return changes('data_sent');
  // The file may hold any of the options above.
  if (program === 'curl' && args.some((arg) => /^(?:-[fgiIjklLnNOpqRsSvZ0-9#]{0,8}K|--config(?:=|$))/.test(arg)))
    return changes('request_from_file');
  const out = valuesOf(args, program === 'wget' ? 'OP' : 'o', '--output', '--output-document', '--directory-prefix');
  const folders = valuesOf(args, '', '--output-dir');
  return [...out, ...folders].some((one) => paths.isVitalFile(one)) ? takesOver('system_written') : null;
};

const NETCAT: Judge = ({ args, command }) => {
  if (args.some((arg) => /^-(?:[a-z]{0,6}e|c|-exec|-sh-exec|-lua-exec)$/i.test(arg)) && args.length > 1)
    return takesOver('shell_handed_away');
  if (command.redirects.some(({ operator }) => operator === '<') && plainArgs(args).length > 1)
    return changes('data_sent');
  const listens = gives(args, 'l', '--listen');
  return listens && args.length > 1 ? changes('port_opened') : null;
};

const POWERS =
  /^(?:-h|-r|-p|-P|-H|-f|--(?:halt|reboot|poweroff|no-wall|force)|now|\+\d{1,4}|\d{1,2}:\d{2}|\/[srhfplag])$/i;
const power: Judge = ({ program, args }) =>
  args.some((arg) => POWERS.test(arg)) || (program.endsWith('init') && /^[06]$/.test(args[0] ?? ''))
    ? changes('machine_stopped')
    : null;

const modes: Judge = ({ args, paths }) => {
  const recursive = gives(args, 'R', '--recursive');
  const plain = args.filter((arg) => !/^-R|^--|^-[cfvR]{1,6}$/.test(arg));
  const [mode = '', ...targets] = plain;
  const wide =
    /^(?:0?[0-7]?[0-7]{2}[2367]|0?00?0?)$/.test(mode) ||
    /(?:^|,)[ugoa]{0,4}[+=][rwxXst]{0,6}[wst]/.test(mode) ||
    /^0?[2467][0-7]{3}$/.test(mode);
  return targets.length > 0 &&
    (recursive || wide || targets.some((one) => isRoot(one, paths) || paths.isVitalFile(one)))
    ? changes('rights_changed')
    : null;
};

const find: Judge = (call) => {
  const { args, paths } = call;
  const printed = args.some((arg, at) => /^-f(?:print[0f]?|ls)$/.test(arg) && paths.isVitalFile(args[at + 1] ?? ''));
  if (printed) return takesOver('system_written');
  if (args.some((arg, place) => arg === '-files0-from' && paths.isSecretFile(args[place + 1] ?? '')))
    return changes('secrets_read');
  const at = args.findIndex((arg) => /^-(?:exec|execdir|ok|okdir)$/.test(arg));
  const roots = args.slice(0, Math.max(0, args.findIndex(isOption)));
  // What is found there is given to a program that may change it.
  const program = (args[at + 1] ?? '').replace(/^\S{0,64}\//, '');
  return removesFound(call) ?? (at >= 0 && changesVital({ program, args: roots, paths }) ? CHANGES_SYSTEM : null);
};
const removesFound: Judge = ({ args }) =>
  args.includes('-delete') ||
  args.some(
    (arg, at) =>
      /^-(?:exec|execdir|ok|okdir)$/.test(arg) &&
      /^(?:\S{0,64}\/)?(?:rm|shred|unlink|chmod|chown|sh|bash|dd|mv|sed|truncate|perl|python3?)$/.test(
        args[at + 1] ?? '',
      ),
  )
    ? changes('files_removed')
    : null;

const REDIS = words(
  'flushall flushdb del unlink shutdown config eval evalsha script debug slaveof replicaof rename migrate set mset module function bgrewriteaof hdel zrem srem ltrim xtrim',
);
const redis: Judge = ({ args }) => {
  const at = args.findIndex((arg) => REDIS.has(arg.toLowerCase()));
  const [verb = '', next = ''] = [args[at]?.toLowerCase(), args[at + 1]?.toLowerCase()];
  return at >= 0 && !(verb === 'config' && next === 'get') ? changes('database_changed') : null;
};

const HIDES = /^-(?:e|en|enc|enco|encod|encode|encoded|encodedc\w{0,10})$/i;
const POWERSHELL =
  /\b(?:invoke-expression|iex|downloadstring|downloadfile|invoke-webrequest|iwr|frombase64string|start-process|tcpclient)\b/i;
const POWERSHELL_CHANGES =
  /\b(?:remove-item|stop-computer|restart-computer|stop-service|stop-process|format-volume|clear-disk|clear-content|set-mppreference|new-localuser|add-localgroupmember|remove-aduser|remove-vm|disable-\w{1,40}|set-executionpolicy|register-scheduledtask|clear-eventlog|set-itemproperty|ri|del)\b/i;
const powershell: Judge = ({ args }) => {
  if (args.some((arg, at) => HIDES.test(arg) && /^[A-Za-z0-9+/=]{8}/.test(args[at + 1] ?? '')))
    return takesOver('runs_hidden');
  const text = args.join(' ');
  if (POWERSHELL.test(text)) return takesOver('runs_download');
  return POWERSHELL_CHANGES.test(text) ? changes('windows_changed') : null;
};

const dd: Judge = ({ args, paths }) => {
  const valueOf = (name: string) => args.find((arg) => arg.startsWith(name))?.slice(name.length) ?? '';
  const out = valueOf('of=');
  if (paths.isDisk(out)) return overwritesDisk;
  if (paths.isVitalFile(out)) return takesOver('system_written');
  return paths.isSecretFile(valueOf('if=')) ? changes('secrets_read') : null;
};

const onDisk: Judge = ({ args, paths }) => (args.some((arg) => paths.isDisk(arg)) ? overwritesDisk : null);
const writesTo: Judge = ({ program, args, paths }) => {
  const plain = plainArgs(args);
  const last = plain.at(-1) ?? '';
  const isVital = (one: string): boolean => paths.isVitalFile(one);
  if (paths.isDisk(last)) return overwritesDisk;
  if (args.length < 2 && !isVital(last)) return null;
  if (last === '/dev/null' && args.length > 1) return changes('files_removed');
  // What is moved is missing where it was.
  const written = [...(program === 'mv' ? plain : [last]), ...valuesOf(args, 't', '--target-directory')];
  return written.some(isVital) ? changes('system_written') : null;
};

/** Programs that write where an option says, or where their last word does. */
const writesBehind =
  (letters: string, ...long: readonly string[]): Judge =>
  ({ args, paths }) =>
    valuesOf(args, letters, ...long).some((one) => paths.isVitalFile(one)) ? changes('system_written') : null;
const writesLast: Judge = ({ args, paths }) => {
  const plain = plainArgs(args);
  return plain.length > 1 && paths.isVitalFile(plain.at(-1) ?? '') ? changes('system_written') : null;
};
const makes: Judge = ({ args, paths }) =>
  plainArgs(args).some((one) => paths.isVitalFile(one)) ? changes('system_written') : null;
/** `tar cf x`: the first word needs no sign. */
const bundled = (args: readonly string[]): readonly string[] =>
  /^[a-zA-Z]{1,8}$/.test(args[0] ?? '') ? [`-${args[0]}`, ...args.slice(1)] : args;
const unpacks: Judge = (call) => {
  const { args } = call;
  if (args.some((arg) => /^-?[a-zA-Z]{0,8}x|^--(?:extract|get)$/.test(arg)))
    return writesBehind('C', '--directory', '--one-top-level')(call);
  if (!args.some((arg) => /^-?[a-zA-Z]{0,8}[cru]|^--(?:create|append|update)$/.test(arg))) return null;
  return writesBehind('f', '--file')({ ...call, args: bundled(args) });
};

const PACKAGES = words('remove purge autoremove erase uninstall unpublish publish deprecate dist-upgrade');
/** Settings of apt that name no program: of how it fetches, asks and shows, and what dpkg does where a file differs. */
const APT_SETS =
  /^(?:apt::(?:get|install|color|architecture|cache|periodic|sandbox|default-release)|acquire(?!.{0,128}detect)|debug|quiet|d?pkg::(?:use-pty|lock|progress)|dpkg::options::=--force-)/i;
/** Options by which a manager of packages is told what to run before or behind its work, and macros of rpm that run something. */
const PACKAGES_RUN = /^--(?:pre-inv|post-inv|status-log|pipe(?:=|$))|%\(|%\{lua:/;
const packages: Judge = ({ program, args }) => {
  const isApt = program.startsWith('apt');
  if (isApt && valuesOf(args, 'o', '--option').some((setting) => !APT_SETS.test(setting))) return RUNS_ANOTHER;
  if (/^(?:dpkg|rpm)$/.test(program) && args.some((arg) => PACKAGES_RUN.test(arg))) return RUNS_ANOTHER;
  const plain = plainArgs(args);
  if (plain.slice(0, -1).some((word) => PACKAGES.has(word)) || plain[0] === 'publish' || plain[0] === 'unpublish')
    return changes('packages_changed');
  const installs = plain.some((word) => ['install', 'i', 'add'].includes(word));
  return installs && args.some((arg) => /^(?:git\+)?https?:\/\/|^--(?:index-url|extra-index-url|registry)/.test(arg))
    ? takesOver('runs_download')
    : null;
};

/** Settings of ssh that name a program or a library: `ProxyCommand x`, `-oKnownHostsCommand=x`. */
const SSH_RUNS = /^\s{0,4}\w{0,32}(?:command|provider)\s{0,4}[=\s]\s{0,4}(?!(?:yes|no|none|internal)?\s{0,4}$)/i;
const runsBySsh = (args: readonly string[]): boolean =>
  args.some((arg, at) => {
    const option = /^-[a-zA-Z46]{0,8}?o/.exec(arg)?.[0];
    if (option !== undefined) return SSH_RUNS.test(arg === option ? (args[at + 1] ?? '') : arg.slice(option.length));
    return /^(?:proxycommand|localcommand)=/i.test(arg);
  });
const copiesBySsh: Judge = ({ args }) =>
  runsBySsh(args) || valuesOf(args, 'SD').some((one) => !/^(?:\S{0,64}\/)?ssh$/.test(one)) ? RUNS_ANOTHER : null;

const tunnels: Judge = ({ args }) => {
  if (runsBySsh(args)) return RUNS_ANOTHER;
  return gives(args, 'R', '-R') && args.some((arg) => /:\d{1,5}(?:$|:)/.test(arg)) ? takesOver('way_in') : null;
};

/** The program by which rsync reaches the other side: whoever names another one than ssh names what is run here. */
const throughAnother = (args: readonly string[]): boolean =>
  args.some((arg, at) => {
    const apart = arg === '--rsh' || /^-[a-zA-DF-Z]{0,16}e$/.test(arg);
    const value = arg.startsWith('--rsh=') ? arg.slice('--rsh='.length) : apart ? (args[at + 1] ?? 'ssh') : 'ssh';
    return !/^(?:\S{0,64}\/)?ssh(?:\s|$)/.test(value) || /proxycommand|localcommand|[;&|`$]/i.test(value);
  });
const copiesOut: Judge = ({ program, args, paths }) => {
  if (program === 'rsync' && throughAnother(args)) return takesOver('runs_inside');
  if (program === 'rsync' && args.some((arg) => arg.startsWith('--delete') || arg === '--remove-source-files'))
    return changes('files_removed');
  const [first = ''] = plainArgs(args);
  const last = plainArgs(args).at(-1) ?? '';
  const beside = valuesOf(args, 'T', '--backup-dir', '--partial-dir', '--temp-dir', '--log-file', '--write-batch');
  if (
    plainArgs(args).length > 1 &&
    [last, ...(program === 'rsync' ? beside : [])].some((one) => paths.isVitalFile(one))
  )
    return changes('system_written');
  // Behind a path of Unix, one letter is no drive.
  if (first.startsWith('/') && /^[a-z]:/i.test(last)) return changes('data_sent');
  return plainArgs(args).length > 1 &&
    /^(?:[\w.-]{1,64}@[\w.-]{0,253}|[\w.-]{1,317}):(?!\\)/.test(last) &&
    !/^[a-z]:/i.test(last)
    ? changes('data_sent')
    : null;
};

const crontab: Judge = ({ args }) => (args.length > 0 && !args.includes('-l') ? changes('schedule_changed') : null);
const firewall: Judge = ({ args }) =>
  args.some((arg) => /^(?:-[FXPADIRZ]|--(?:flush|delete-chain|policy|append|delete|insert|replace))$/.test(arg))
    ? changes('firewall_changed')
    : null;
const stops =
  (act: ShellAct): Judge =>
  ({ args }) =>
    args.some((arg) => /^-(?:\d{1,2}|[A-Z]{3,8}|s|f|u)$/.test(arg) || /^(?:-1|--signal|\/f|\/im|\/pid)/i.test(arg))
      ? changes(act)
      : null;

const AWK_SOURCE = /^(?:-e|--so[a-z]{0,4}=)/;
/** The programs among the arguments of awk; a library that it loads is one that it runs. */
const runsByAwk = (args: readonly string[]): boolean =>
  args.some((arg, at) => {
    if (/^-l|^--lo/.test(arg)) return true;
    if (/^-[Fvfi]$|^--(?:field-separator|assign|file|include)$/.test(args[at - 1] ?? '')) return false;
    return (!isOption(arg) || AWK_SOURCE.test(arg)) && runsAnother(arg.replace(AWK_SOURCE, ''));
  });
/** Options of tar by which a program is named, cut short or not. */
const TAR_RUNS = /^(?:-[a-zA-Z]{0,8}F|--(?:checkpoint-|to-c|inf|new-v|rs|rm))/;
/** Programs that compress, with their options. */
export const COMPRESSES =
  /^(?:gzip|pigz|bzip2|lbzip2|pbzip2|xz|pxz|zstd|zstdmt|lz4|lzop|lzip|brotli|compress)(?: -{1,2}[\w=-]{1,16}){0,4}$/;
/** `openssl engine -pre SO_PATH:x`, `-engine ./x.so`: a library that is loaded. */
const loadsBySsl = (args: readonly string[]): boolean =>
  args.some(
    (arg, at) =>
      (args[0] === 'engine' && (/^-(?:pre|post)$/.test(arg) || (at > 0 && arg.includes('/')))) ||
      arg === '-provider-path' ||
      (/^-(?:engine|provider)$/.test(args[at - 1] ?? '') && arg.includes('/')),
  );

const READERS =
  'cat less more tail head xxd strings base64 type grep egrep fgrep zgrep awk sed cut sort nl tac od hexdump rev diff cmp';
/** Their arguments are paths, which are read from the folder that a text enters before. */
export const TAKES_PATHS = words(
  `${READERS} rg ag ack cp mv install ln tee sponge dd chmod chown chgrp setfacl perl ruby curl wget find fd mkdir touch mkfifo mknod split
  csplit tar bsdtar unzip scp rsync rm unlink rmdir shred truncate patch ed ex vi vim`,
);
const PROGRAMS: readonly (readonly [string, Judge])[] = [
  ['rm', removal],
  ['rimraf del-cli', (call) => removal({ ...call, args: ['-rf', ...call.args] })],
  [
    'unlink rmdir',
    ({ args }) => (plainArgs(args).some((one) => /^[/~$.]/.test(one)) ? changes('files_removed') : null),
  ],
  [
    'del erase rd',
    ({ args }) => (args.some((arg) => /^\/[sfqa]$/i.test(arg)) && args.length > 1 ? changes('files_removed') : null),
  ],
  [
    'rmdir',
    ({ args }) => (args.some((arg) => /^\/[sq]$/i.test(arg)) && args.length > 1 ? changes('files_removed') : null),
  ],
  [
    'remove-item ri',
    ({ args }) =>
      gives(args, '', '-recurse', '-force', '-r', '-fo') || args.some((arg) => /^-(?:recurse|force)$/i.test(arg))
        ? changes('files_removed')
        : null,
  ],
  ['find fd', find],
  [
    'shred srm',
    ({ args, paths }) =>
      args.some((arg) => paths.isDisk(arg))
        ? overwritesDisk
        : plainArgs(args).length > 0 && (args.length > 1 || args.some((arg) => /[/.]/.test(arg)))
          ? changes('files_removed')
          : null,
  ],
  ['truncate', ({ args }) => (gives(args, 's', '--size') && args.length > 1 ? changes('files_removed') : null)],
  ['dd', dd],
  [
    'wipefs blkdiscard fdisk sfdisk cfdisk gdisk sgdisk parted badblocks hdparm cryptsetup mkswap pvremove pvcreate mdadm partprobe losetup',
    onDisk,
  ],
  ['lvremove vgremove', always('disk_written')],
  ['zpool zfs btrfs', spoken('disk_written', 'destroy', 'delete')],
  ['format', ({ args }) => (args.some((arg) => /^[a-z]:$/i.test(arg)) ? overwritesDisk : null)],
  ['diskpart', ({ args }) => (args.includes('/s') ? overwritesDisk : null)],
  ['cp mv install ln tee sponge', writesTo],
  ['mkdir touch mkfifo mknod', makes],
  ['split csplit', writesLast],
  ['sort', writesBehind('o', '--output')],
  ['tar bsdtar', unpacks],
  ['unzip 7z', writesBehind('d')],
  [`${READERS} rg ag ack`, readsFile],
  ['chmod', modes],
  [
    'chown chgrp setfacl',
    ({ args, paths }) =>
      (gives(args, 'R', '--recursive') && plainArgs(args).length > 1) ||
      plainArgs(args).some((one, at) => at > 0 && (isRoot(one, paths) || paths.isVitalFile(one)))
        ? changes('rights_changed')
        : null,
  ],
  [
    'chattr',
    ({ args }) =>
      args.some((arg) => /^[+=-][aijsu]$|^-R$/.test(arg)) && args.length > 1 ? changes('rights_changed') : null,
  ],
  ['setcap', always('rights_changed', 2)],
  [
    'icacls takeown cacls',
    ({ args }) =>
      args.some((arg) => /^\/(?:grant|f|t|reset|setowner|e)(?:$|:)/i.test(arg)) ? changes('rights_changed') : null,
  ],
  ['kubectl oc k3s k', kube],
  ['helm', spoken('cluster_changed', '', 'uninstall delete rollback upgrade install')],
  ['docker podman nerdctl', docker],
  ['docker-compose podman-compose', compose],
  ['terraform tofu terragrunt pulumi cdk cdktf sls serverless vagrant', infrastructure],
  ['ansible', ({ args }) => (gives(args, 'a') && gives(args, 'm') ? changes('machines_changed') : null)],
  ['aws gcloud az oci ibmcloud aliyun doctl linode-cli eksctl kops scw hcloud', cloud],
  ['gsutil', spoken('cloud_changed', '', 'rm rb mv rsync setmeta')],
  ['bq', spoken('cloud_changed', '', 'rm cp load update')],
  ['s3cmd mc rclone', spoken('cloud_changed', '', 'rm rb del delete purge deletefile rmdirs sync move')],
  [
    'heroku flyctl fly',
    ({ args }) =>
      args.some((arg) => /:(?:destroy|reset|kill|stop|delete|remove)$|^destroy$/.test(arg))
        ? changes('cloud_changed')
        : null,
  ],
  ['gh glab', gh],
  ['git', git],
  ['svn hg', spoken('history_lost', '', 'delete rm remove strip purge')],
  [
    'systemctl',
    spoken(
      'service_changed',
      'poweroff reboot halt rescue emergency isolate kexec daemon-reload',
      'stop disable mask kill restart start enable edit revert reset-failed',
    ),
  ],
  [
    'service rc-service',
    ({ args }) =>
      args.length > 1 && /^(?:stop|restart|disable)$/.test(args[1] ?? '') ? changes('service_changed') : null,
  ],
  ['launchctl', spoken('service_changed', '', 'unload remove bootout disable load kickstart')],
  [
    'sc',
    ({ args }) =>
      /^(?:stop|delete|config|create)$/i.test(args[0] ?? '') && args.length > 1 ? changes('service_changed') : null,
  ],
  [
    'net',
    ({ args }) =>
      /^(?:user|localgroup|group|stop|share)$/i.test(args[0] ?? '') &&
      (args.some((arg) => /^\/(?:add|delete|active)/i.test(arg)) || (/^stop$/i.test(args[0] ?? '') && args.length > 1))
        ? changes('accounts_or_services_changed')
        : null,
  ],
  [
    'reg',
    ({ args }) =>
      /^(?:delete|add|import|restore)$/i.test(args[0] ?? '') && args.length > 1 ? changes('windows_changed') : null,
  ],
  [
    'schtasks',
    ({ args }) => (args.some((arg) => /^\/(?:create|delete|change)$/i.test(arg)) ? changes('schedule_changed') : null),
  ],
  [
    'wmic',
    ({ args }) => (args.some((arg) => /^(?:delete|call|shadowcopy)$/i.test(arg)) ? changes('windows_changed') : null),
  ],
  [
    'vssadmin wbadmin bcdedit',
    ({ args }) =>
      args.some((arg) => /^(?:delete|\/set|\/delete|resize)/i.test(arg)) ? changes('backups_changed') : null,
  ],
  ['cipher', ({ args }) => (args.some((arg) => /^\/w/i.test(arg)) ? changes('disk_written') : null)],
  [
    'netsh',
    ({ args }) => (args.some((arg) => /^(?:set|add|delete|reset)$/i.test(arg)) ? changes('firewall_changed') : null),
  ],
  [
    'certutil',
    ({ args }) => (args.some((arg) => /^[-/](?:urlcache|decode|split)/i.test(arg)) ? takesOver('runs_download') : null),
  ],
  ['bitsadmin', ({ args }) => (args.some((arg) => /^\/transfer/i.test(arg)) ? takesOver('runs_download') : null)],
  [
    'mshta',
    ({ args }) =>
      args.some((arg) => /^(?:https?|javascript|vbscript):/i.test(arg)) ? takesOver('runs_download') : null,
  ],
  ['regsvr32', ({ args }) => (args.some((arg) => /^\/i:http/i.test(arg)) ? takesOver('runs_download') : null)],
  [
    'rundll32',
    ({ args }) =>
      args.some((arg) => /^javascript:/i.test(arg)) || args.length > 1 ? takesOver('runs_download') : null,
  ],
  ['taskkill', ({ args }) => (args.some((arg) => /^\/(?:f|im|pid)$/i.test(arg)) ? changes('processes_stopped') : null)],
  [
    'iex invoke-expression',
    ({ args, command }) =>
      POWERSHELL.test(args.join(' ')) ||
      (command.reads !== null && POWERSHELL.test(command.reads.words.map(({ text }) => text).join(' '))) ||
      args.some((arg) => /^[$(]/.test(arg))
        ? takesOver('runs_download')
        : null,
  ],
  ['powershell pwsh', powershell],
  [
    'stop-computer restart-computer',
    ({ args }) => (args.some((arg) => /^-(?:force|computername)$/i.test(arg)) ? changes('machine_stopped') : null),
  ],
  ['set-mppreference', always('protection_off', 2)],
  ['format-volume clear-disk', ({ args }) => (args.some(isOption) ? overwritesDisk : null)],
  ['kill', stops('processes_stopped')],
  [
    'pkill',
    ({ args }) =>
      args.length > 0 && (args.some(isOption) || (args.length === 1 && isName(args[0] ?? '')))
        ? changes('processes_stopped')
        : null,
  ],
  // As many names as there are words: those of no process hinder nothing.
  ['killall', ({ args }) => (args.some((arg) => isOption(arg) || isName(arg)) ? changes('processes_stopped') : null)],
  ['crontab', crontab],
  ['shutdown reboot halt poweroff init telinit', power],
  ['iptables ip6tables ebtables arptables', firewall],
  ['nft', spoken('firewall_changed', '', 'flush delete add insert')],
  [
    'ufw',
    ({ args }) =>
      /^(?:disable|reset|--force|delete|allow|default)$/.test(args[0] ?? '') &&
      (args.length === 1 || /^(?:--force|delete|allow|default|disable|reset)$/.test(args[0] ?? ''))
        ? changes('firewall_changed')
        : null,
  ],
  [
    'firewall-cmd',
    ({ args }) =>
      args.some((arg) => /^--(?:remove|add|panic|set|reload)/.test(arg)) ? changes('firewall_changed') : null,
  ],
  [
    'ip',
    ({ args }) =>
      /^(?:link|addr|address|route|rule|neigh)$/.test(args[0] ?? '') &&
      /^(?:set|flush|del|delete|add|replace)$/.test(args[1] ?? '') &&
      args.length > 2
        ? changes('network_set')
        : null,
  ],
  ['ifconfig', ({ args }) => (args.length > 1 && args.includes('down') ? changes('network_set') : null)],
  [
    'route',
    ({ args }) =>
      /^(?:del|delete|add|flush|-f)$/.test(args[0] ?? '') && args.length > 1 ? changes('network_set') : null,
  ],
  ['sysctl', withOption('system_set', 'wp', '--write', '--load')],
  ['setenforce', ({ args }) => (/^(?:0|permissive)$/i.test(args[0] ?? '') ? changes('protection_off') : null)],
  ['swapoff', withOption('system_set', 'a', '--all')],
  ['umount', ({ args }) => (args.some((arg) => /^\/|^-[alf]$/.test(arg)) ? changes('system_set') : null)],
  [
    'mount',
    ({ args }) => (args.some((arg) => /remount|^\/dev\//.test(arg)) && args.length > 1 ? changes('system_set') : null),
  ],
  [
    'rmmod insmod modprobe',
    ({ args }) => (args.some((arg) => arg === '-r' || arg.endsWith('.ko')) ? changes('system_set') : null),
  ],
  ['history', withOption('traces_removed', 'cw')],
  ['unset', ({ args }) => (args.includes('HISTFILE') ? changes('traces_removed') : null)],
  [
    'journalctl',
    ({ args }) => (args.some((arg) => /^--(?:vacuum|rotate)/.test(arg)) ? changes('traces_removed') : null),
  ],
  ['auditctl', ({ args }) => (args.some((arg) => /^-[De]$/.test(arg)) ? changes('traces_removed') : null)],
  ['wevtutil', ({ args }) => (/^(?:cl|clear-log)$/i.test(args[0] ?? '') ? changes('traces_removed') : null)],
  [
    'userdel useradd usermod groupdel groupadd deluser adduser chpasswd visudo gpasswd chage',
    ({ args, command }) =>
      args.some(isOption) ||
      command.reads !== null ||
      (args.length > 0 && args.length < 3 && args.every((arg) => /^[a-z_][\w-]{0,31}$/.test(arg)))
        ? changes('accounts_changed')
        : null,
  ],
  ['passwd', ({ args }) => (args.some((arg) => /^-[dleS]$|^root$/.test(arg)) ? changes('accounts_changed') : null)],
  [
    'dropdb dropuser createuser',
    ({ args }) => (plainArgs(args).length === 1 || args.some(isOption) ? changes('database_removed') : null),
  ],
  [
    'psql mysql mariadb sqlite3 cockroach clickhouse-client duckdb sqlcmd osql cqlsh snowsql usql mysqlsh sqlplus isql bcp',
    sqlProgram,
  ],
  ['mysqladmin', spoken('database_removed', 'shutdown', 'drop password flush-privileges kill')],
  [
    'pg_restore mongorestore',
    ({ args }) => (args.some((arg) => /^(?:-c|--clean|--drop)$/.test(arg)) ? changes('database_removed') : null),
  ],
  [
    'pg_ctl pg_ctlcluster',
    ({ args }) => (args.includes('stop') && args.length > 1 ? changes('service_changed') : null),
  ],
  ['redis-cli valkey-cli keydb-cli', redis],
  ['mongo mongosh', mongo],
  [
    'etcdctl',
    ({ args }) =>
      /^(?:del|put|rm|rmdir)$/.test(plainArgs(args)[0] ?? '') && args.length > 1 ? changes('database_changed') : null,
  ],
  ['consul vault nomad', spoken('database_changed', '', 'delete destroy revoke disable purge stop seal')],
  [
    'rabbitmqctl',
    spoken('queue_changed', 'reset force_reset stop stop_app', 'purge_queue delete_queue delete_vhost delete_user'),
  ],
  [
    'kafka-topics kafka-topics.sh kafka-configs.sh',
    ({ args }) => (args.some((arg) => /^--(?:delete|alter)$/.test(arg)) ? changes('queue_changed') : null),
  ],
  ['curl wget http https xh', sendsHttp],
  ['nc ncat netcat nc.traditional nc.openbsd', NETCAT],
  ['socat', ({ args }) => (args.some((arg) => /^(?:exec|system):/i.test(arg)) ? takesOver('shell_handed_away') : null)],
  ['ssh', tunnels],
  ['scp rsync', copiesOut],
  ['scp sftp', copiesBySsh],
  ['python python2 python3 pypy pypy3', codeRunner('c')],
  ['perl ruby lua', codeRunner('eE')],
  [
    'perl ruby',
    ({ args, paths }) =>
      args.some((arg) => /^-[a-z]{0,4}i/.test(arg)) && args.some((arg) => paths.isVitalFile(arg))
        ? changes('system_written')
        : null,
  ],
  ['zip', ({ args }) => (args.some((arg) => /^(?:-TT|--unzip-command)/.test(arg)) ? takesOver('runs_inside') : null)],
  [
    'gcc g++ cc c++ clang clang++',
    ({ args }) => (args.some((arg) => /^-wrapper$|^-fplugin=/.test(arg)) ? takesOver('runs_inside') : null),
  ],
  ['node nodejs deno bun', codeRunner('ep')],
  ['php', codeRunner('r')],
  [
    'osascript',
    ({ args }) =>
      args.some((arg) => /do shell script|with administrator/i.test(arg)) ? takesOver('runs_inside') : null,
  ],
  [
    'awk gawk mawk nawk original-awk',
    ({ args }) =>
      args.some((arg) => /\bsystem\s?\(|\/inet\/tcp\/|\|\s?"(?:ba)?sh"/.test(arg)) || runsByAwk(args)
        ? RUNS_ANOTHER
        : null,
  ],
  [
    'tar gtar bsdtar',
    ({ args }) =>
      args.some((arg) => TAR_RUNS.test(arg)) ||
      valuesOf(bundled(args), 'I', '--use-compress-program').some((one) => !COMPRESSES.test(one)) ||
      (args.includes('--remove-files') && args.length > 1)
        ? RUNS_ANOTHER
        : null,
  ],
  [
    'vim vi ex ed nvim view gvim rvim vimdiff',
    ({ args, paths }) =>
      runsByEditor(args)
        ? RUNS_ANOTHER
        : writtenByEditor(args).some((file) => paths.isVitalFile(file))
          ? takesOver('system_written')
          : null,
  ],
  ['less more most', ({ args }) => (args.some((arg) => /^\+.{0,64}?[!|]\s{0,4}\S/s.test(arg)) ? RUNS_ANOTHER : null)],
  ['sed gsed', ({ args }) => (runsBySed(args) ? RUNS_ANOTHER : null)],
  [
    'sed',
    ({ args, paths }) =>
      (gives(args, 'i', '--in-place') && args.some((arg) => paths.isVitalFile(arg))) ||
      args.some((arg) => /^\d{0,4}e\s/.test(arg))
        ? changes('system_written')
        : null,
  ],
  ['apt apt-get yum dnf brew dpkg rpm pacman apk zypper snap pip pip3 npm yarn pnpm cargo gem twine', packages],
  ['logrotate fuser', withOption('processes_stopped', 'kf', '--kill', '--force')],
  [
    'openssl',
    ({ args }) =>
      args[0] === 's_client' && args.includes('-quiet')
        ? takesOver('shell_handed_away')
        : loadsBySsl(args)
          ? RUNS_ANOTHER
          : null,
  ],
  ['xmrig minerd', always('works_for_others')],
];

const JUDGES = new Map<string, Judge[]>();
for (const [names, judge] of PROGRAMS)
  for (const program of names.split(' ')) JUDGES.set(program, [...(JUDGES.get(program) ?? []), judge]);

const MKFS = /^mkfs(?:\.[a-z0-9]{1,8})?$|^mke2fs$|^newfs$/;

/** Every word of theirs that is no option is a file that they change, also as it is from another folder. */
const CHANGES_ALL = words('tee sponge truncate patch ed ex vi vim');

/** What a program does with these arguments, or null when it only looks. `isMoved`: they are as seen from a folder that the text enters. */
export function judgeProgram(call: Call, isMoved = false): ShellReading | null {
  if (MKFS.test(call.program))
    return onDisk(call) ?? (call.args.length > 0 && call.args.some((arg) => /^-|\//.test(arg)) ? overwritesDisk : null);
  for (const judge of JUDGES.get(call.program) ?? []) {
    const found = judge(call);
    if (found !== null) return found;
  }
  return (!isMoved || CHANGES_ALL.has(call.program)) && changesVital(call) ? CHANGES_SYSTEM : null;
}

export const isKnownProgram = (program: string): boolean => JUDGES.has(program) || MKFS.test(program);
