import Table from 'cli-table3';
import { Argument, Option, type Command } from 'commander';
import { LITE_SETTINGS } from '../config/lite.js';
import { settingLines } from '../config/setting-lines.js';
import { APART_SETTINGS, START_SETTINGS } from '../stack/process-settings.js';
import { PROCESS_NAMES, type ProcessName } from '../stack/services.js';
import { CliError } from './errors.js';

/** `gate config`: prints every setting of a process. */
export function registerConfig(program: Command): void {
  program
    .command('config')
    .description('print the settings of a process with their meaning and default')
    .addArgument(
      new Argument('[process]', 'which; without it those of `gate start`').choices([...PROCESS_NAMES, 'lite']),
    )
    .option('--check', 'read the settings of this environment and the files they name; exits 1 with every fault')
    .addOption(new Option('--json', 'print JSON instead of a table').conflicts('check'))
    .action(async (name: ProcessName | 'lite' | undefined, { check, json }: { check?: boolean; json?: boolean }) => {
      if (check) {
        if (!name || name === 'lite') throw new CliError('--check needs a service or the worker', 2);
        const { loadSettings } = await import('../stack/separate.js');
        loadSettings(name, process.env);
        return void process.stdout.write(`the settings of ${name} are complete\n`);
      }
      const groups = name === 'lite' ? { lite: LITE_SETTINGS } : name ? APART_SETTINGS[name] : START_SETTINGS;
      const lines = settingLines(groups);
      if (json) return void process.stdout.write(`${JSON.stringify(lines, null, 2)}\n`);
      const table = new Table({
        head: ['variable', 'default', 'meaning'],
        style: { head: [], border: [] },
        colWidths: [null, 16, 70],
        wordWrap: true,
      });
      for (const { variable, default: value, secret, meaning } of lines)
        table.push([variable, value, secret ? `${meaning} Secret.` : meaning]);
      process.stdout.write(`${table.toString()}\n`);
    });
}
