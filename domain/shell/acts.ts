/** What a command does, apart from the words for it. */
interface Act {
  /** What people and rules are told, in a few words of Gate's own. */
  readonly says: string;
  /** Changes something that is easily put back, or changes nothing here, where no code from elsewhere runs. */
  readonly isMild?: true;
  readonly removes?: true;
}

/** Everything that a command is told to do. The words may change; what follows from an act does not follow from them. */
export const SHELL_ACTS = {
  root_removed: { says: 'a removal of a root, a home or everything', removes: true },
  files_removed: { says: 'a removal of files', removes: true },
  system_written: { says: 'a file of the system written over' },
  disk_written: { says: 'a disk written over' },
  unsure_file_written: { says: 'a file written over that only a shell knows' },
  data_sent: { says: 'data sent out', isMild: true },
  port_opened: { says: 'a port opened', isMild: true },
  secrets_read: { says: 'secrets read', isMild: true },
  system_set: { says: 'settings of the system changed', isMild: true },
  network_set: { says: 'network settings changed', isMild: true },
  schedule_changed: { says: 'scheduled work changed', isMild: true },
  queue_changed: { says: 'a change of a queue', isMild: true },
  request_changes: { says: 'a request that changes what it reaches', isMild: true },
  repository_changed: { says: 'a change of a repository', isMild: true },
  service_changed: { says: 'a service stopped or changed', isMild: true },
  request_from_file: { says: 'a request that only a file describes' },
  history_lost: { says: 'history or work of a repository thrown away' },
  cluster_changed: { says: 'a change of a cluster' },
  containers_changed: { says: 'containers, images or volumes changed or removed' },
  infrastructure_changed: { says: 'infrastructure changed or destroyed' },
  cloud_changed: { says: 'a change of cloud resources' },
  machines_changed: { says: 'a change of many machines' },
  windows_changed: { says: 'a change of a Windows machine' },
  database_changed: { says: 'a change of a database' },
  database_removed: { says: 'a database or its users removed' },
  statement_changes: { says: 'a statement that changes a database' },
  packages_changed: { says: 'packages removed or published' },
  rights_changed: { says: 'rights of files changed' },
  accounts_changed: { says: 'accounts changed' },
  accounts_or_services_changed: { says: 'accounts or services changed' },
  backups_changed: { says: 'backups or start of a machine changed' },
  firewall_changed: { says: 'rules of a firewall changed' },
  protection_off: { says: 'protection switched off' },
  traces_removed: { says: 'traces removed' },
  processes_stopped: { says: 'processes stopped' },
  machine_stopped: { says: 'a machine stopped or restarted' },
  run_on_found: { says: 'a command run on whatever is found' },
  code_runs: { says: 'code that runs commands or removes files' },
  code_reaches_out: { says: 'code that reaches out or hides what it runs' },
  runs_given: { says: 'a shell that runs what it is given' },
  runs_left_script: { says: 'a script from a folder where anybody leaves files' },
  runs_download: { says: 'a program that runs what it downloads' },
  runs_inside: { says: 'a command inside of another one' },
  runs_later: { says: 'a command set to run later' },
  runs_hidden: { says: 'a command that hides what it runs' },
  runs_without_end: { says: 'a program that starts itself without end' },
  programs_moved: { says: 'programs taken from another folder' },
  code_loaded: { says: 'a program made to load code from elsewhere' },
  shell_handed_away: { says: 'a shell handed to another machine' },
  way_in: { says: 'a way in from outside' },
  host_container: { says: 'a container with the rights of its host' },
  works_for_others: { says: 'a program that works for somebody else' },
  unread: { says: 'more commands than are read' },
} as const satisfies Readonly<Record<string, Act>>;

export type ShellAct = keyof typeof SHELL_ACTS;

/** What is known of an act. */
export const shellActOf = (act: ShellAct): Act => SHELL_ACTS[act];
