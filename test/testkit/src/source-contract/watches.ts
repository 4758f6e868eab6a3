import type { ServiceSnapshot, SourceWatch } from '@spock/protocol';
import { expect, it } from 'vitest';

import { waitFor } from '../wait-for.ts';
import { hostsOf, type MakeFixture, recorder } from './fixture.ts';

/** What `watch` promises while the registry is well. */
export function testWatches(makeFixture: MakeFixture): void {
	it('watch tells the current snapshot before it returns, then every change, newest last and never an older one', async () => {
		await using fixture = await makeFixture();
		await fixture.setService('barista', ['10.0.0.1:80']);
		await fixture.source.get({ service: 'barista' });
		const seen = recorder();
		const watch = fixture.source.watch({ service: 'barista' }, seen);
		expect(hostsOf(seen.snapshots[0])).toEqual(['10.0.0.1:80']);
		for (let port = 1; port <= 20; port++) await fixture.setService('barista', [`10.0.0.1:${port}`]);
		await waitFor('the last change', () => hostsOf(seen.snapshots.at(-1))?.[0] === '10.0.0.1:20');
		const revisions = seen.snapshots.map(({ revision }) => revision);
		expect(revisions).toEqual([...new Set(revisions)].sort((left, right) => left - right));
		expect(seen.errors).toEqual([]);
		watch.stop();
	});

	it('watch of a service that is not known yet tells it when it is', async () => {
		await using fixture = await makeFixture();
		await fixture.setService('barista', ['10.0.0.1:80']);
		const seen = recorder();
		const watch = fixture.source.watch({ service: 'barista' }, seen);
		await waitFor('the first snapshot', () => hostsOf(seen.snapshots.at(-1))?.[0] === '10.0.0.1:80');
		await fixture.setService('barista', []);
		await waitFor('the empty one', () => seen.snapshots.at(-1)?.instances.length === 0);
		watch.stop();
		watch.stop();
	});

	it('watch of a service that nobody has registered tells an empty snapshot, and the service when it is there', async () => {
		await using fixture = await makeFixture();
		const seen = recorder();
		fixture.source.watch({ service: 'barista' }, seen);
		await waitFor('the empty one', () => seen.snapshots.at(-1)?.instances.length === 0);
		await fixture.setService('barista', ['10.0.0.1:80']);
		await waitFor('the service', () => hostsOf(seen.snapshots.at(-1))?.[0] === '10.0.0.1:80');
		expect(seen.errors).toEqual([]);
	});

	it('two watches of one query are independent: stopping one leaves the other', async () => {
		await using fixture = await makeFixture();
		await fixture.setService('barista', ['10.0.0.1:80']);
		const first = recorder();
		const second = recorder();
		const stopped = fixture.source.watch({ service: 'barista' }, first);
		fixture.source.watch({ service: 'barista' }, second);
		await waitFor('both', () => first.snapshots.length > 0 && second.snapshots.length > 0);
		stopped.stop();
		const told = first.snapshots.length;
		await fixture.setService('barista', ['10.0.0.9:80']);
		await waitFor('the change', () => hostsOf(second.snapshots.at(-1))?.[0] === '10.0.0.9:80');
		expect(first.snapshots).toHaveLength(told);
	});

	it('the same observer may watch twice: it is told twice, and stopping one watch leaves the other', async () => {
		await using fixture = await makeFixture();
		await fixture.setService('barista', ['10.0.0.1:80']);
		await fixture.source.get({ service: 'barista' });
		const seen = recorder();
		const stopped = fixture.source.watch({ service: 'barista' }, seen);
		fixture.source.watch({ service: 'barista' }, seen);
		expect(seen.snapshots).toHaveLength(2);
		stopped.stop();
		await fixture.setService('barista', ['10.0.0.9:80']);
		await waitFor('the change', () => hostsOf(seen.snapshots.at(-1))?.[0] === '10.0.0.9:80');
		// Each change once: only one of the two watches is left.
		const later = seen.snapshots.slice(2).map(({ revision }) => revision);
		expect(later).toEqual([...new Set(later)]);
	});

	it('an observer may stop its own watch while it is told, and hears nothing after that', async () => {
		await using fixture = await makeFixture();
		await fixture.setService('barista', ['10.0.0.1:80']);
		await fixture.source.get({ service: 'barista' });
		const heard: ServiceSnapshot[] = [];
		const other = recorder();
		const watch: SourceWatch = fixture.source.watch(
			{ service: 'barista' },
			{
				next: (snapshot) => {
					heard.push(snapshot);
					if (heard.length > 1) watch.stop();
				},
			},
		);
		fixture.source.watch({ service: 'barista' }, other);
		for (const port of [2, 3]) {
			await fixture.setService('barista', [`10.0.0.1:${port}`]);
			await waitFor('the change', () => hostsOf(other.snapshots.at(-1))?.[0] === `10.0.0.1:${port}`);
		}
		expect(heard).toHaveLength(2);
	});
}
