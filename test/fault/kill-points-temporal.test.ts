import { describeKillPoints } from './kill-table.js';

describeKillPoints('the kill-point table on the Temporal host', 'temporal', 3);
