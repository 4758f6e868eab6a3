import { type KeyEntry, type KeyQuery, type KeySnapshot, makeKeySnapshot, type SnapshotState } from '@spock/protocol';

import { expectArray, expectObject, readMs, readSource, wrong } from './read-snapshot.ts';

/** What a reply or a push says of keys; frozen. Throws PROTOCOL, whose `details.path` names the member. */
export function readKeySnapshot(data: unknown): KeySnapshot {
	const members = expectObject(data, '');
	const { key, prefix, datacenter, revision, source, ageMs, verifiedAt, held, oversize, value } = members;
	if (typeof key !== 'string') throw wrong('key', 'a string');
	if (!Number.isFinite(revision)) throw wrong('revision', 'a number');
	const query: KeyQuery = {
		key,
		...(prefix === true && { prefix }),
		...(typeof datacenter === 'string' && { datacenter }),
	};
	const state: SnapshotState = {
		revision: revision as number,
		source: readSource(source),
		ageMs: readMs(ageMs),
		verifiedAt: readMs(verifiedAt),
		...(held === true && { held }),
		...(oversize === true && { oversize }),
	};
	if (prefix === true) {
		const entries = expectArray(members['entries'], 'entries').map((entry, index) => {
			const path = `entries[${index}]`;
			return readEntry(expectObject(entry, path), `${path}.`);
		});
		return makeKeySnapshot(query, Object.freeze(entries), state);
	}
	return makeKeySnapshot(query, value === null ? [] : [readEntry(members, '')], state);
}

function readEntry({ key, value, encoding }: Readonly<Record<string, unknown>>, path: string): KeyEntry {
	if (typeof key !== 'string') throw wrong(`${path}key`, 'a string');
	if (typeof value !== 'string') throw wrong(`${path}value`, 'a string');
	// A way of writing bytes that this version does not know would be taken for text.
	if (encoding !== undefined && encoding !== null && encoding !== 'base64') throw wrong(`${path}encoding`, 'base64');
	return Object.freeze({ key, value, ...(encoding === 'base64' && { encoding }) });
}
