import { words } from '../text.js';

/**
 * Commands of vi and its like that run nothing. Each has languages in which a text may do anything, and plugins have commands of their own,
 * so all the others count as such.
 */
const HARMLESS = words(
  `s su sub substitute set se setl setlocal setg g global v vglobal d delete y yank m move t co copy j join p print nu number l list k mark ma w
  write wa wall wq wqa x xa xit exit q quit qa qall wn up update e edit ene enew n next N prev b buffer bn bp bd buffers ls files tabe tabnew
  tabn tabp sp split vs vsplit new vne only on clo close sor sort ret retab noh nohl nohls nohlsearch sy syn syntax filet filetype colo
  colorscheme u undo red redo marks reg registers h help ver version ft fold fo foldopen norm normal star startinsert le left ri right ce center > < & && =`,
);
/** Settings that say how a text is shown, read and written. Others may name a program, code or a folder of code, and some have short names. */
const PLAIN_SETTINGS = words(
  `all nu number rnu relativenumber wrap wm wrapmargin tw textwidth ts tabstop sw shiftwidth sts softtabstop et expandtab ai autoindent si
  smartindent ic ignorecase scs smartcase hls hlsearch is incsearch paste list ff fileformat ffs fileformats ft filetype syn syntax enc encoding
  fenc fileencoding fencs fileencodings tenc bomb binary bin eol endofline fixeol swf swapfile bk backup wb writebackup udf undofile ro readonly
  ma modifiable mod modified nocp nocompatible cp compatible more ruler ru sc showcmd smd showmode cul cursorline cuc cursorcolumn cc
  colorcolumn bg background sm showmatch mps matchpairs spell so scrolloff ls laststatus magic ws wrapscan gd gdefault hid hidden lbr linebreak
  sbr showbreak lcs listchars fo formatoptions com comments cms commentstring mouse to ttimeout tm timeoutlen hi history ul undolevels
  ar autoread aw autowrite sb splitbelow spr splitright cb clipboard termguicolors tgc t_Co report terse lazyredraw lz fdm foldmethod fen
  foldenable fdl foldlevel`,
);
const tellsProgram = (settings: string): boolean =>
  settings
    .replace(/^!/, '')
    .split(/[\s,]{1,64}/)
    .some((setting) => {
      const [, no = '', name = '', other = ''] = /^(no|inv)?([a-z_A-Z]{0,32})[!?&]?(.?)/.exec(setting) ?? [];
      if (name === '' && other === '') return false;
      const isPlain = PLAIN_SETTINGS.has(name) || PLAIN_SETTINGS.has(`${no}${name}`);
      return !isPlain || (other !== '' && !/[=+^:-]/.test(other)) || /[(`]|expr/.test(setting);
    });
/** `12,$`, `%`, `'<,'>`, `.+3`, `/a/`, and what only says how. */
const RANGE = /^(?:[\s:%.$,;+\-\d]|'[a-zA-Z<>]){0,64}/;
const HOW = /^(?:sil|silent|verb|verbose|noswapfile|keepj|keepjumps)!?\s/;
const LONGEST = 1_024;
/** Commands of commands that are read. */
const MOST = 16;

/** Whether a line for an editor runs a program or code. One that is too long to be read does. */
function runs(line: string): boolean {
  if (line.length > LONGEST) return true;
  const left = [line];
  for (let read = 0; left.length > 0; read += 1) {
    if (read > MOST) return true;
    let text = (left.pop() as string).replace(RANGE, '');
    if (HOW.test(text)) text = text.replace(HOW, '').replace(RANGE, '');
    // `/a/d`: from a line with this text on.
    if (/^[/?]/.test(text)) {
      const [, , command = ''] = apart(text, 2);
      left.push(command);
      continue;
    }
    if (text === '') continue;
    const verb = /^(?:[A-Za-z]{1,16}|[<>&=]{1,2})/.exec(text)?.[0] ?? '';
    const behind = text.slice(verb.length);
    if (/^s(?:u|ub|ubstitute)?$/.test(verb) && /^[^A-Za-z0-9\s]/.test(behind)) {
      if (behind.includes('\\=')) return true;
      const [, , , flags = ''] = apart(behind, 3);
      const behindIt = flags.split('|').slice(1);
      if (behindIt.length > MOST) return true;
      left.push(...behindIt);
      continue;
    }
    if (/^(?:g|global|v|vglobal)$/.test(verb)) {
      const [, , command = ''] = apart(behind.replace(/^!/, ''), 2);
      left.push(command);
      continue;
    }
    // `d|!x`: one command behind another one.
    const [own = '', ...more] = behind.split('|');
    if (more.length > MOST) return true;
    left.push(...more);
    if (verb === '' || !HARMLESS.has(verb)) return true;
    // `w !x`: to a program. `e +x a`: there, x.
    if (/(?:^|\s)\+\S/.test(own) || (verb.startsWith('w') && fileOf(own).startsWith('!'))) return true;
    // A name of a file that is computed.
    if (own.includes('`')) return true;
    if (verb.startsWith('se') && tellsProgram(own)) return true;
    // A key that begins a command, runs what was kept, asks a program about a word, or brings in what is computed.
    if (verb.startsWith('norm') && runsByKeys(own.replace(/^!/, ''))) return true;
  }
  return false;
}

/** `/a/b/c` in pieces at so many of its first sign as nothing escapes; what is behind them is the last one, and the first one is empty. */
function apart(text: string, signs: number): readonly string[] {
  const sign = text[0] ?? '';
  const pieces = [''];
  let from = 1;
  for (let at = 1; at < text.length && pieces.length < signs; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === sign) {
      pieces.push(text.slice(from, at));
      from = at + 1;
    }
  }
  return [...pieces, text.slice(from)];
}

/** The lines that an editor is told to run: `+x`, `-c x`, `-sc x`, `--cmd x`. */
const linesOf = (args: readonly string[]): readonly string[] =>
  args.flatMap((arg, at) => {
    if (arg.startsWith('+')) return [arg.slice(1)];
    const option = /^(?:-[a-zA-Z]{0,8}?c|--c(?:m|md)?(?:=|$))/.exec(arg)?.[0];
    if (option === undefined) return /^:.{0,256}!/s.test(arg) ? [arg] : [];
    return [arg.slice(option.length) || (args[at + 1] ?? '')];
  });

const runsByKeys = (keys: string): boolean => /[:!@KQ]|<C-/i.test(keys) || Array.from(keys).some((key) => key < ' ');
/** What stands behind a command that writes: a file, or a program behind `!`. */
const fileOf = (behind: string): string => behind.replace(/^!/, '').trim().replace(/^>>/, '').trimStart();

const WRITES = words('w wr write wq x xit up update');
/** The files that an editor is told to write. */
export const writtenByEditor = (args: readonly string[]): readonly string[] =>
  linesOf(args)
    .flatMap((line) => line.split(/[\n\r|]/))
    .flatMap((command) => {
      const text = command.trimStart().replace(RANGE, '');
      const verb = /^[a-z]{1,16}/.exec(text)?.[0] ?? '';
      return WRITES.has(verb) ? [fileOf(text.slice(verb.length))] : [];
    })
    .filter((file) => file !== '' && file[0] !== '!');

/** Whether an editor runs a program or code by its arguments. The files that it loads are not read. */
export const runsByEditor = (args: readonly string[]): boolean =>
  linesOf(args).some((line) => {
    const lines = line.split(/[\n\r]/);
    return lines.length > MOST || lines.some(runs);
  });
