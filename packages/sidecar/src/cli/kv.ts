import {
	entriesOf,
	isStale,
	type KeyEntry,
	type KeyQuery,
	type KeySnapshot,
	keyQueryKey,
	SpockError,
} from '@spock/protocol';

import { follow } from './follow.ts';
import { formatState } from './watch.ts';
import { type ClientFlags, print, withClient } from './with-client.ts';

interface KeyFlags extends ClientFlags {
	readonly prefix?: boolean;
	readonly datacenter?: string;
}

/** `sidecar kv get KEY`: the value as it is, byte for byte, and a line end. With `--prefix` a line for each key. */
export async function getKey(key: string, flags: KeyFlags): Promise<void> {
	await withClient(flags, async (client, timeoutMs) => {
		const found = await client.request('getKey', queryOf(key, flags), timeoutMs);
		if (flags.json) print(JSON.stringify(found));
		else if (found.prefix === true) for (const entry of found.entries) print(formatEntry(entry));
		else if (found.value !== null) printBytes(Buffer.from(found.value, found.encoding ?? 'utf8'));
		if (found.prefix !== true && found.value === null) {
			throw new SpockError('NO_SUCH_KEY', `there is no key ${JSON.stringify(key)}; sidecar kv get --prefix shows many`);
		}
		if (isStale(found) && !flags.json) {
			process.stderr.write(`not live: the registry was last heard ${Math.round(found.ageMs / 1000)} s ago\n`);
		}
	});
}

/** `sidecar kv watch KEY`: a line for each change until Ctrl-C. */
export async function watchKey(key: string, flags: KeyFlags): Promise<void> {
	const query = queryOf(key, flags);
	await follow(flags, {
		func: 'watchKey',
		query,
		event: 'key',
		isMine: (snapshot) => keyQueryKey(snapshot) === keyQueryKey(query),
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
	if (encoding !== undefined) return `${key}=(${encoding}) ${value}`;
	return `${key}=${/[\n\r]/.test(value) ? JSON.stringify(value) : value}`;
}

function printBytes(bytes: Buffer): void {
	process.stdout.write(Buffer.concat([bytes, Buffer.from('\n')]));
}
