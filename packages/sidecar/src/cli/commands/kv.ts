import { entriesOf, isStale, type KeyEntry, type KeyQuery, type KeySnapshot, SpockError } from '@spock/protocol';

import type { ClientFlags } from '../client/sidecar-target.ts';
import { withClient } from '../client/with-client.ts';
import { print, printable } from '../output/output.ts';
import { follow, formatState } from './watch.ts';

const LINE_END = Buffer.from('\n');

interface KeyFlags extends ClientFlags {
	readonly prefix?: boolean;
	readonly datacenter?: string;
}

/**
 * `sidecar kv get KEY`: the value and a line end. Into a pipe or a file byte for byte; on a terminal so that nothing in it steers that.
 * With `--prefix` a line for each key.
 */
export async function getKey(key: string, flags: KeyFlags): Promise<void> {
	await withClient(flags, async (client, options) => {
		const found = await client.request('getKey', queryOf(key, flags), options);
		if (flags.json) print(JSON.stringify(found));
		else if (found.prefix === true) for (const entry of found.entries) print(formatEntry(entry));
		else if (found.value !== null) printValue(found.value, found.encoding);
		if (found.prefix !== true && found.value === null) {
			throw new SpockError('NO_SUCH_KEY', `the key ${JSON.stringify(key)} does not exist${hintOf(key)}`);
		}
		if (isStale(found) && !flags.json) {
			process.stderr.write(`not live: last confirmed by the registry ${Math.round(found.ageMs / 1000)} s ago\n`);
		}
	});
}

/** `sidecar kv watch KEY`: a line for each change until Ctrl-C. */
export async function watchKey(key: string, flags: KeyFlags): Promise<void> {
	const query = queryOf(key, flags);
	await follow<KeySnapshot>(flags, {
		first: (client, options) => client.request('getKey', query, options),
		observe: (client, observer) => client.observeKey(query, observer),
		show: (snapshot) => print(flags.json ? JSON.stringify(snapshot) : formatKeys(snapshot)),
	});
}

function queryOf(key: string, { prefix, datacenter }: KeyFlags): KeyQuery {
	return { key, ...(prefix && { prefix }), ...(datacenter !== undefined && { datacenter }) };
}

function formatKeys(found: KeySnapshot): string {
	const none = found.prefix === true ? 'no key' : 'no such key';
	return `${formatState(found)}  ${entriesOf(found).map(formatEntry).join('  ') || none}`;
}

/** `key=value` on one line: a value that has line ends or is bytes is shown as JSON does, or in base64. */
function formatEntry({ key, value, encoding }: KeyEntry): string {
	const name = printable(key);
	if (encoding !== undefined) return `${name}=(${encoding}) ${value}`;
	return `${name}=${printable(printable(value) === value ? value : JSON.stringify(value))}`;
}

/** A command that shows the keys of the same folder; none for a key that is in none, or whose name a shell would take apart. */
function hintOf(key: string): string {
	const folder = key.slice(0, key.lastIndexOf('/') + 1);
	return /^[\w./-]+$/.test(folder) ? `; \`sidecar kv get --prefix ${folder}\` shows the keys beside it` : '';
}

function printValue(value: string, encoding: KeyEntry['encoding']): void {
	if (!process.stdout.isTTY) process.stdout.write(Buffer.concat([Buffer.from(value, encoding ?? 'utf8'), LINE_END]));
	else print(encoding === undefined ? value : `(${encoding}) ${value}`);
}
