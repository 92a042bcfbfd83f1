export const names = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));

/** A name as the lists below have it: `Sub-Command` and `sub_command` are `subcommand`. */
export const plain = (name: string): string =>
  endsOf(name)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '');

const END = 64;
/** The head and the tail of a long name, so that what is read of it at each of many values is short. */
export const endsOf = (name: string): string =>
  name.length > 2 * END ? `${name.slice(0, END)} ${name.slice(-END)}` : name;

/** Arguments that hold a program. */
export const NAMES_PROGRAM = names(
  `command cmd program prog exe executable exec binary bin run shell process entrypoint commandname commandline programname file argv0
  interpreter utility`,
);
/** Of these, the ones that as often hold a file, a job or a pattern of them. */
export const NAMES_FILE_TOO = names('run process file');
/** Arguments that hold the arguments of a program. */
export const NAMES_ARGUMENTS = names(
  `args argv arguments argument arg params parameters options opts flags switches commandargs commandarguments cmdargs
  programargs extraargs extraarguments additionalargs commandoptions commandflags arglist argumentlist operands`,
);
/** Arguments that hold the word behind a program: `delete`. */
export const NAMES_VERB = names(
  'subcommand subcmd verb action actiontype actionname operation operationtype operationname op optype',
);
/** Arguments beside a program that no tool hands to it. */
export const NAMES_OTHER = names(
  `cwd workingdirectory workdir workingdir timeout timeoutms timeoutsecs timeoutseconds env environment user username description reason
  explanation purpose justification rationale title comment note message summary prompt thought intent id session sessionid background
  async wait encoding`,
);

const VALUES = names('value val content values data');
const PAIR_NAMES = names('name key field label id param parameter argument property');
const LONGEST_OF_PAIR = 16;
/** In an object whose one member has a name and the other its value: `{"name": "amount", "value": 5}`. */
export const holdsValue = (name: string): boolean => name.length <= LONGEST_OF_PAIR && VALUES.has(plain(name));
export const holdsName = (name: string): boolean => name.length <= LONGEST_OF_PAIR && PAIR_NAMES.has(plain(name));
/** Where the name of a value stands in the names that lead to it: `method` of `{"method": {"value": "DELETE"}}`. */
export function ownName(path: readonly string[]): string {
  const at = path.findLastIndex((name) => !holdsValue(name));
  return path[at < 0 ? path.length - 1 : at] ?? '';
}
