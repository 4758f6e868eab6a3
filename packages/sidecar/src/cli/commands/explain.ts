import type { ExplainReply, InstanceExplanation, WatcherStatus } from '@spock/protocol';
import { queryLabel } from '@spock/protocol/internal';
import { formatAddress } from '@spock/protocol/node';

import type { ClientFlags } from '../client/sidecar-target.ts';
import { withClient } from '../client/with-client.ts';
import { print, printable } from '../output/output.ts';
import { nextStep, queryOf } from './ask.ts';

/** `sidecar explain SERVICE` */
export async function explain(service: string, flags: ClientFlags): Promise<void> {
	await withClient(flags, async (client, options) => {
		const query = queryOf(service, flags);
		const reply = await client.request('explain', query, options);
		if (flags.json) print(JSON.stringify(reply));
		else
			print(
				formatExplanation(reply, Date.now(), isUnknown(reply) ? await nextStep(client, query, options) : undefined),
			);
	});
}

/** A page of text for people, the most important line first; `next` is what to do where no instance is registered. */
export function formatExplanation(reply: ExplainReply, wallNowMs: number, next?: string): string {
	const { instances, instanceCount = instances.length } = reply;
	const served = instances.filter(({ included }) => included).length;
	const rows = instances.map((instance) => rowOf(instance, wallNowMs));
	return [
		`${printable(nameOf(reply))}: ${next === undefined ? `${served} of ${instances.length} instances get work` : `no instance is registered; ${next}`}`,
		...(instanceCount > instances.length
			? [`shown     ${instances.length} of ${instanceCount}: the others do not fit into a frame`]
			: []),
		`state     ${stateOf(reply, wallNowMs)}`,
		...pathOf(reply),
		...(reply.changedAt === null ? [] : [`changed   ${ago(reply.changedAt, wallNowMs)}, revision ${reply.revision}`]),
		...(reply.held === null ? [] : [heldOf(reply.held)]),
		...(reply.panic ? ['panic     too few instances are healthy: all are served'] : []),
		...(reply.error === null ? [] : [`error     ${printable(reply.error)}`]),
		`watchers  ${watchersOf(reply)}`,
		...(reply.watchers.some(({ oversize }) => oversize) ? [oversizeOf(reply)] : []),
		...(rows.length === 0
			? []
			: ['', ...table([['SERVED', 'INSTANCE', 'ADDRESS', 'WEIGHT', 'CHANGED', 'WHY'], ...rows])]),
		...refusedOf(reply),
		...checksOf(instances),
	].join('\n');
}

/** True if the registry has answered, and has none: not while it is unheard. */
function isUnknown({ instances, instanceCount = instances.length, source, held, refusedCount }: ExplainReply): boolean {
	return instanceCount === 0 && source !== null && held === null && (refusedCount ?? 0) === 0;
}

function nameOf(reply: ExplainReply): string {
	return `${reply.service} ${queryLabel(reply)}`.trimEnd();
}

function stateOf({ state, source, verifiedAt }: ExplainReply, wallNowMs: number): string {
	if (source === null) return `${state}: nothing to serve`;
	return `${state} (${source})${verifiedAt === 0 ? '' : `, confirmed by the registry ${ago(verifiedAt, wallNowMs)}`}`;
}

function pathOf({ upstreams = [] }: ExplainReply): string[] {
	if (upstreams.length === 0) return [];
	return [`asked     ${printable(upstreams.map(({ address }) => address).join(', which asks '))}`];
}

function heldOf({ forMs, endsInMs }: NonNullable<ExplainReply['held']>): string {
	const since = seconds(forMs);
	return `held      the registry has returned no instances for ${since}; believed in ${seconds(endsInMs)}`;
}

function watchersOf({ watchers, watcherCount }: ExplainReply): string {
	if (watcherCount === 0) return 'none';
	const more = watcherCount > watchers.length ? `, and ${watcherCount - watchers.length} more` : '';
	return `${printable(watchers.map(formatWatcher).join(', '))}${more}`;
}

function formatWatcher({ connection, client, pid, oversize }: WatcherStatus): string {
	const process = pid === null ? '' : ` (pid ${pid})`;
	return `#${connection} ${client ?? 'unnamed'}${process}${oversize ? ' (too long for it)' : ''}`;
}

function oversizeOf({ frameBytes }: ExplainReply): string {
	return `too long  a frame of ${frameBytes} bytes: raise frameBytesMax, at the sidecar and at these clients`;
}

function rowOf(instance: InstanceExplanation, wallNowMs: number): string[] {
	const { included, weight, changedAt, reason } = instance;
	const changed = changedAt === null ? '' : ago(changedAt, wallNowMs);
	return [included ? 'yes' : 'no', instance.instance, formatAddress(instance), String(weight), changed, reason];
}

function checksOf(instances: readonly InstanceExplanation[]): string[] {
	const rows = instances.flatMap(({ instance, checks }) => {
		return checks.map(({ id, name, status }) => [instance, status, id, name]);
	});
	return rows.length === 0 ? [] : ['', ...table([['INSTANCE', 'STATUS', 'CHECK', 'NAME'], ...rows])];
}

function refusedOf({ refused = [], refusedCount = refused.length }: ExplainReply): string[] {
	if (refusedCount === 0) return [];
	const more = refusedCount > refused.length ? [`and ${refusedCount - refused.length} more`] : [];
	return [
		'',
		...table([['LEFT OUT', 'WHY'], ...refused.map(({ instance, reason }) => [instance, `it ${reason}`])]),
		...more,
	];
}

function table(rows: readonly (readonly string[])[]): string[] {
	const widths = (rows[0] ?? []).map((_, column) =>
		Math.max(...rows.map((row) => printable(row[column] ?? '').length)),
	);
	return rows.map((row) =>
		row
			.map((cell, column) => printable(cell).padEnd(widths[column] ?? 0))
			.join('  ')
			.trimEnd(),
	);
}

function ago(atMs: number, wallNowMs: number): string {
	return `${seconds(Math.max(0, wallNowMs - atMs))} ago`;
}

function seconds(ms: number): string {
	return `${(ms / 1000).toFixed(1)} s`;
}
