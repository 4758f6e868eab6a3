import type { CallOptions, Diplomat } from '@spock/client';
import { entriesOf, type KeyQuery, type ServiceQuery } from '@spock/protocol';
import { nearestName, queryMembers } from '@spock/protocol/internal';

import { commandLine } from '../output/command-name.ts';
import { printable } from '../output/output.ts';

/**
 * What to do where a service has no instance: the name that was most likely meant, and the command that shows more. Requests one list
 * of services, or two if the query names a datacenter, and reads a limited number of names. Never rejects.
 */
export async function nextStep(client: Diplomat, query: ServiceQuery, options: CallOptions): Promise<string> {
	const { service, tags, datacenter, peer } = query;
	// What a peer exports is in no list here.
	if (peer !== undefined) return `\`${commandLine('explain', service, ...queryWords(query))}\` shows why`;
	const namesIn = (where: { readonly datacenter?: string }): Promise<string[]> =>
		client
			.request('listServices', where, options)
			.then(({ services }) => services.map(({ name }) => name))
			.catch(() => []);
	const names = await namesIn(datacenter === undefined ? {} : { datacenter });
	const explain = `\`${printable(commandLine('explain', service))}\``;
	if (names.includes(service)) {
		const given = queryMembers.filter(({ role, of }) => role === 'condition' && of(query) !== undefined);
		const flags = given.map(({ flag }) => `--${flag}`);
		return flags.length > 0
			? `${explain}, without ${flags.join(' and ')}, shows all instances`
			: `${explain} shows why`;
	}
	if (datacenter !== undefined && (await namesIn({})).includes(service)) {
		return `${explain}, without --datacenter, shows where it is known`;
	}
	const meant = nearestName(service, names);
	const question = meant === undefined ? '' : `did you mean "${printable(meant)}"? `;
	return `${question}\`${commandLine('list')}\` shows the names${tags === undefined ? '' : ' and their tags'}`;
}

/** The flags of a query. */
function queryWords(query: ServiceQuery): string[] {
	return queryMembers.flatMap(({ flag, of }) => {
		const value = of(query);
		if (value === undefined) return [];
		const values = typeof value === 'string' ? [value] : Array.isArray(value) ? value : pairsOf(value);
		return values.flatMap((one: string) => [`--${flag}`, one]);
	});
}

function pairsOf(value: object): string[] {
	return Object.entries(value).map(([name, one]) => `${name}=${one}`);
}

/**
 * The same for a key that does not exist: the key that was most likely meant, and the command that shows its neighbours; undefined if there
 * is no key near it. Requests the keys of its folder and, if there are none, those with its first letter. Never rejects.
 */
export async function nextKeyStep(
	client: Diplomat,
	query: KeyQuery,
	options: CallOptions,
): Promise<string | undefined> {
	const { key, datacenter } = query;
	const keysIn = (prefix: string): Promise<string[]> =>
		client
			.request('getKey', { key: prefix, prefix: true, ...(datacenter !== undefined && { datacenter }) }, options)
			.then((found) => entriesOf(found).map((entry) => entry.key))
			// The values of so many keys may not fit into a frame, or may not be read.
			.catch(() => []);
	const folder = key.slice(0, key.lastIndexOf('/') + 1);
	const beside = folder === '' ? [] : await keysIn(folder);
	const names = beside.length > 0 ? beside : await keysIn(key.slice(0, 1));
	const meant = nearestName(key, names);
	const question = meant === undefined ? [] : [`did you mean ${printable(JSON.stringify(meant))}?`];
	const shown = beside.length > 0 ? folder : (meant?.slice(0, meant.lastIndexOf('/') + 1) ?? '');
	const at = datacenter === undefined ? [] : ['--datacenter', datacenter];
	const command = commandLine('kv', 'get', '--prefix', shown, ...at);
	// One that a terminal cannot show as it is cannot be pasted.
	const hint = shown !== '' && printable(command) === command ? [`\`${command}\` shows the keys beside it`] : [];
	return question.length + hint.length === 0 ? undefined : [...question, ...hint].join(' ');
}
