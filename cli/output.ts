import { Option } from 'commander';

export const json = () => new Option('--json', 'print JSON instead of a table');
export const print = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
