import { BackendSource, createReplayBackend, readRecording } from '@spock/discovery';
import type { ServiceSnapshot } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';

/** What a reader sees of a snapshot, whoever tells it: revisions, ages and the order of members are the teller's own. */
export function seen({ source, instances }: Pick<ServiceSnapshot, 'source' | 'instances'>): string {
	const members = instances.map((instance) =>
		Object.entries(instance).sort(([left], [right]) => (left < right ? -1 : 1)),
	);
	return JSON.stringify({ source, instances: members.map((entries) => Object.fromEntries(entries)) });
}

/** What readers of the service are told by a replay of the record, in order. */
export async function replayed(file: string, service: string): Promise<string[]> {
	const clock = new FakeClock();
	const source = new BackendSource({ backend: await createReplayBackend({ file, clock }), clock });
	const told: string[] = [];
	source.watch({ service }, { next: (snapshot) => told.push(seen(snapshot)) });
	const { lines } = await readRecording(file);
	await clock.advance((lines.at(-1)?.t ?? 0) + 1);
	await source.close();
	return told;
}
