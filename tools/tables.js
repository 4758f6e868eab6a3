// `npm run tables`: writes into the documentation what is known from the code. `npm run tables NAME…` writes only those named. With
// `--check` it changes nothing, and fails where a page differs from the code.
import { ensureInstalled, fail } from './prepare.js';

const TABLES = {
	states: './state-tables.js',
	settings: './settings-table.js',
	metrics: './operations-tables.js',
	events: './event-limits-table.js',
	release: './release-names.js',
	grpc: './grpc-descriptors.js',
};
/** Needs Go. */
const ONLY_BY_NAME = 'grpc';

const names = process.argv.slice(2).filter((arg) => arg !== '--check');
const unknown = names.find((name) => !Object.hasOwn(TABLES, name));
if (unknown !== undefined) fail(`unknown table "${unknown}"; expected some of: ${Object.keys(TABLES).join(', ')}`, 2);
ensureInstalled();
for (const name of names.length > 0 ? names : Object.keys(TABLES).filter((one) => one !== ONLY_BY_NAME)) {
	await import(TABLES[name]);
}
