import { describeSourceContract, FakeSidecar, fakeSnapshot, type MakeFixture, tempSocket } from '@spock/testkit';
import { resolveOptions } from '../foundation/options.ts';
import { FallbackSource } from './fallback-source.ts';
import { SidecarSource } from './sidecar-source.ts';

const makeFixture: MakeFixture = async () => {
	const place = await tempSocket();
	const held: (() => void)[] = [];
	let holding = false;
	const sidecar = await FakeSidecar.listen(place.path, {
		handle: ({ func, id, data, connection }) => {
			if (func !== 'watchService' || !holding) return undefined;
			held.push(() => {
				const { service } = data as { service: string };
				const there = sidecar.connections[connection];
				there?.subscriptions.add(service);
				there?.reply(id, sidecar.snapshotOf({ service }));
			});
			return 'hold';
		},
	});
	const source = new SidecarSource(resolveOptions({ path: place.path }));
	await source.connection.ready();
	let revision = 1;
	return {
		source,
		setService: (service, hosts) => sidecar.publish(fakeSnapshot(service, ++revision, [...hosts].sort())),
		holdAnswers: (hold) => {
			holding = hold;
			if (!hold) for (const answer of held.splice(0)) answer();
		},
		cutOff: (isCut) => (isCut ? sidecar.stop() : sidecar.listen(place.path)),
		[Symbol.asyncDispose]: async () => {
			await source.close();
			await sidecar.stop();
			await place[Symbol.asyncDispose]();
		},
	};
};

/** The same, with a fallback that is of no use: whatever it adds must not be noticed. */
const makeFixtureWithFallback: MakeFixture = async () => {
	const fixture = await makeFixture();
	const sidecar = fixture.source as SidecarSource;
	const fallback = (): never => {
		throw new Error('there is none');
	};
	const source = new FallbackSource(sidecar, resolveOptions({ path: '/not/used.sock', fallbackAfterMs: 1 }), fallback);
	return { ...fixture, source };
};

// The fake one knows nothing of tags; the real one beside it does.
describeSourceContract('SidecarSource over a socket', makeFixture, { hasTags: false, hasDatacenter: false });
describeSourceContract('SidecarSource with a fallback', makeFixtureWithFallback, {
	hasTags: false,
	hasDatacenter: false,
});
