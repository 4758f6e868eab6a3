import { isServing, queryKey, type ServiceSnapshot } from '@spock/protocol';

import type { ClientFlags } from '../client/with-client.ts';
import { print } from '../output/output.ts';
import { printable } from '../output/printable.ts';
import { follow } from './follow.ts';
import { type QueryFlags, queryOf } from './get.ts';
import { nextStep } from './next-step.ts';

interface WatchFlags extends ClientFlags, QueryFlags {}

/** `sidecar watch SERVICE`: a line for each change until Ctrl-C or until nobody reads the lines any more. */
export async function watch(service: string, flags: WatchFlags): Promise<void> {
	const query = queryOf(service, flags);
	await follow(flags, {
		func: 'watchService',
		query,
		event: 'service',
		isMine: (snapshot) => queryKey(snapshot) === queryKey(query),
		begun: async ({ instances, oversize }, client, timeoutMs) => {
			if (instances.length > 0 || oversize || flags.json) return;
			process.stderr.write(`no instance yet: ${await nextStep(client, query, timeoutMs)}\n`);
		},
		show: (snapshot) => print(flags.json ? JSON.stringify(snapshot) : printable(formatSnapshot(snapshot))),
	});
}

/** One line for people: when, what revision, how fresh, and who gets work. */
export function formatSnapshot({ revision, source, ageMs, instances, held, panic, oversize }: ServiceSnapshot): string {
	const places = instances.map((instance) => {
		const mark = isServing(instance) && instance.status === 'passing' ? '' : ` ${instance.status}`;
		return `${instance.host}:${instance.port}${mark}`;
	});
	const marks = `${held ? ' held' : ''}${panic ? ' panic' : ''}${oversize ? ' oversize' : ''}`;
	return `${formatState({ revision, source, ageMs })}${marks}  ${places.join(', ') || 'no instance'}`;
}

/** When, what revision, and how fresh: how each line of a watch begins. */
export function formatState({
	revision,
	source,
	ageMs,
}: Pick<ServiceSnapshot, 'revision' | 'source' | 'ageMs'>): string {
	const age = source === 'last-known-good' ? ` (${(ageMs / 1000).toFixed(1)} s old)` : '';
	return `${new Date().toISOString()}  #${revision} ${source}${age}`;
}
