import type { KeyEntry, ServiceInstance } from '@spock/protocol';
import { formatAddress } from '@spock/protocol/node';

import { type Piece, styled } from '../output/page.ts';

/** One line for each instance that came (`+`), went (`-`) or differs (`~`), in the order of their names. */
export function instanceChanges(
	before: readonly ServiceInstance[],
	after: readonly ServiceInstance[],
): readonly (readonly Piece[])[] {
	return changesOf(before, after, ({ instance }) => instance).flatMap(([old, fresh]): Piece[][] => {
		if (old === undefined) return [[styled('good', `+ ${placeOf(fresh)}`), ...statusOf(fresh)]];
		if (fresh === undefined) return [[styled('bad', `- ${placeOf(old)}`)]];
		const fields = fieldsOf(old, fresh);
		if (fields.length === 0) return [];
		const isTrouble = fresh.status !== 'passing';
		return [[`~ ${placeOf(fresh)} `, styled(isTrouble ? 'bad' : 'good', fields.join(', '))]];
	});
}

/** The same for keys; `shown` is how an entry is written on a line. */
export function keyChanges(
	before: readonly KeyEntry[],
	after: readonly KeyEntry[],
	shown: (entry: KeyEntry) => string,
): readonly (readonly Piece[])[] {
	return changesOf(before, after, ({ key }) => key).flatMap(([old, fresh]): Piece[][] => {
		if (old === undefined) return [[styled('good', `+ ${shown(fresh)}`)]];
		if (fresh === undefined) return [[styled('bad', `- ${old.key}`)]];
		return shown(old) === shown(fresh) ? [] : [[styled('warning', `~ ${shown(fresh)}`)]];
	});
}

type Change<T> =
	| readonly [old: T, fresh: T]
	| readonly [old: undefined, fresh: T]
	| readonly [old: T, fresh: undefined];

/** What is in either list, by its name, in the order of names. */
function changesOf<T>(before: readonly T[], after: readonly T[], nameOf: (one: T) => string): Change<T>[] {
	const old = new Map(before.map((one) => [nameOf(one), one]));
	const fresh = new Map(after.map((one) => [nameOf(one), one]));
	const names = [...new Set([...old.keys(), ...fresh.keys()])].sort();
	return names.map((name) => [old.get(name), fresh.get(name)] as Change<T>);
}

/** Its name and address; the address alone where that is the name. */
function placeOf({ instance, host, port }: ServiceInstance): string {
	const address = formatAddress({ host, port });
	return instance === address ? address : `${instance} ${address}`;
}

function statusOf({ status }: ServiceInstance): Piece[] {
	return status === 'passing' ? [] : [' ', styled('bad', status)];
}

/** What differs between two states of one instance. Of metadata only the names: a value may be a secret. */
function fieldsOf(before: ServiceInstance, after: ServiceInstance): string[] {
	const texts: readonly (readonly [name: string, from: string, to: string])[] = [
		['', before.status, after.status],
		['weight ', String(before.weight), String(after.weight)],
		['address ', formatAddress(before), formatAddress(after)],
		['zone ', before.zone ?? 'none', after.zone ?? 'none'],
		['datacenter ', before.datacenter ?? 'none', after.datacenter ?? 'none'],
		['tags ', before.tags.join(',') || 'none', after.tags.join(',') || 'none'],
	];
	const fields = texts.filter(([, from, to]) => from !== to).map(([name, from, to]) => `${name}${from} → ${to}`);
	const names = [...new Set([...Object.keys(before.meta), ...Object.keys(after.meta)])];
	const meta = names.filter((name) => before.meta[name] !== after.meta[name]).sort();
	return meta.length === 0 ? fields : [...fields, `metadata ${meta.join(', ')}`];
}
