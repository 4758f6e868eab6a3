import type { CallOptions, Diplomat } from '@spock/client';
import { isServing, type ServiceList, type ServiceListEntry, SpockError, type WatchStatus } from '@spock/protocol';
import { queryLabel } from '@spock/protocol/internal';

import type { ClientFlags } from '../client/sidecar-target.ts';
import { withClient } from '../client/with-client.ts';
import { commandLine } from '../output/command-name.ts';
import { print } from '../output/output.ts';
import { type Cell, type Look, lookOf, Page, printPage, type Style, styled } from '../output/page.ts';
import { warnStale } from './ask.ts';

interface ListFlags extends ClientFlags {
	readonly datacenter?: string;
	readonly health?: boolean;
}

/** Services that are looked up at the same time: one client must not crowd out the others of its sidecar. */
const LOOKUPS_MAX = 16;

/** How many instances of a service get work, of how many; or why that is unknown. */
export type Health = { readonly healthy: number; readonly instances: number } | { readonly error: string };

/**
 * `sidecar list`: every service with its tags, and the health of those that the sidecar watches anyway. With --health each is looked
 * up, which makes the sidecar watch it for its idle time, and those in trouble come first.
 */
export async function list(flags: ListFlags): Promise<void> {
	await withClient(flags, async (client, options) => {
		const where = flags.datacenter === undefined ? {} : { datacenter: flags.datacenter };
		const reply = await client.request('listServices', where, options);
		if (flags.json && !flags.health) {
			print(JSON.stringify(reply));
			return;
		}
		const watches = await watched(client, where, options);
		const services = flags.health ? withGone(reply.services, watches) : reply.services;
		const healths = flags.health ? await lookedUp(client, services, where, options) : known(watches);
		if (flags.json) {
			print(JSON.stringify(withHealth({ ...reply, services }, healths)));
			return;
		}
		if (services.length === 0) process.stderr.write(nothingListed());
		else printPage(formatList(services, healths, lookOf(process.stdout), flags.health));
		if (reply.source === 'last-known-good') warnStale(reply.ageMs);
		const isComplete = services.every(({ name }) => healths.has(name));
		if (isComplete || !process.stderr.isTTY) return;
		const hint = `a service without health is not watched here; \`${commandLine('list', '--health')}\` looks up each\n`;
		process.stderr.write(lookOf(process.stderr).paint('dim', hint));
	});
}

/** What is said instead of an empty table. */
export function nothingListed(): string {
	return (
		'no services: none is registered, or the ACL token may not read any; ' +
		`\`${commandLine('status')}\` shows which registry is asked\n`
	);
}

/** A table of services; with `troubleFirst` the worst come first, else they are in the order given. */
export function formatList(
	services: readonly ServiceListEntry[],
	healths: ReadonlyMap<string, Health>,
	look: Look,
	troubleFirst = false,
): Page {
	const rank = ({ name }: ServiceListEntry): number => RANKS.indexOf(styleOf(healths.get(name)));
	const ordered = troubleFirst ? [...services].sort((one, other) => rank(one) - rank(other)) : services;
	const rows = ordered.map(({ name, tags }): Cell[] => {
		const health = healths.get(name);
		const style = styleOf(health);
		const isKnown = health !== undefined && !('error' in health);
		return [
			style === 'good' || style === 'dim' ? name : styled(style, name),
			isKnown ? styled(style, `${health.healthy}/${health.instances}`) : '',
			tags.join(','),
			isKnown || health === undefined ? '' : styled('bad', health.error),
		];
	});
	return new Page(look).table(rows, { titles: ['SERVICE', 'HEALTHY', 'TAGS', 'ERROR'] });
}

/** The worst first. */
const RANKS: readonly Style[] = ['bad', 'warning', 'good', 'dim'];

function styleOf(health: Health | undefined): Style {
	if (health === undefined) return 'dim';
	if ('error' in health || health.healthy === 0) return 'bad';
	return health.healthy < health.instances ? 'warning' : 'good';
}

type Where = { readonly datacenter?: string };

/** The services that the sidecar watches without conditions, and that were answered: costs the registry nothing. */
async function watched(client: Diplomat, { datacenter }: Where, options: CallOptions): Promise<readonly WatchStatus[]> {
	const { watches } = await client.request('status', null, options);
	const wanted = datacenter === undefined ? '' : queryLabel({ service: '', datacenter });
	return watches.filter((watch) => queryLabel(watch) === wanted && watch.state !== 'cold');
}

function known(watches: readonly WatchStatus[]): Map<string, Health> {
	return new Map(
		watches.map(({ service, healthyInstances, instances }) => [service, { healthy: healthyInstances, instances }]),
	);
}

/** Before the services of the registry those that clients watch and that are not among them any more. */
export function withGone(
	services: readonly ServiceListEntry[],
	watches: readonly Pick<WatchStatus, 'service' | 'readers' | 'instances'>[],
): readonly ServiceListEntry[] {
	const listed = new Set(services.map(({ name }) => name));
	// A name that was looked up by mistake has neither.
	const gone = watches.filter(
		({ service, readers, instances }) => !listed.has(service) && (readers > 0 || instances > 0),
	);
	return [...gone.map(({ service: name }): ServiceListEntry => ({ name, tags: [] })), ...services];
}

async function lookedUp(
	client: Diplomat,
	services: readonly ServiceListEntry[],
	where: Where,
	options: CallOptions,
): Promise<Map<string, Health>> {
	const healths = new Map<string, Health>();
	const left = services.values();
	const work = async (): Promise<void> => {
		for (const { name } of left) healths.set(name, await healthOf(client, { service: name, ...where }, options));
	};
	await Promise.all(Array.from({ length: LOOKUPS_MAX }, work));
	return healths;
}

async function healthOf(
	client: Diplomat,
	query: { readonly service: string; readonly datacenter?: string },
	options: CallOptions,
): Promise<Health> {
	try {
		const { instances } = await client.request('getInstances', query, options);
		return { healthy: instances.filter(isServing).length, instances: instances.length };
	} catch (error) {
		// Of one service alone. A lost connection ends the command.
		if (!SpockError.is(error) || error.code === 'DISCONNECTED') throw error;
		return { error: `${error.code}: ${error.message}` };
	}
}

function withHealth({ services, ...facts }: ServiceList, healths: ReadonlyMap<string, Health>): object {
	return { services: services.map((entry) => ({ ...entry, ...healths.get(entry.name) })), ...facts };
}
