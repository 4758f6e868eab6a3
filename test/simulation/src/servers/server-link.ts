import type { RegistrationCatalogue, RegistrationPlace, Sighting } from '@spock/discovery';
import { SpockError } from '@spock/protocol';

import type { SeededRandom } from '../seeded-random.ts';
import type { SimProcess } from '../sim-process.ts';
import type { SimServer, SimServers } from './sim-servers.ts';

/** A call that has no answer is given up after this, in milliseconds, as the real ones are. */
const CALL_MS = 5000;
const WAY_MS_MAX = 3;

/** What a process has to register with. */
export interface ServerLink {
	readonly places: readonly RegistrationPlace[];
	readonly catalogue: RegistrationCatalogue;
}

/** The servers as one process reaches them. A write takes hold when it arrives, also where its answer is lost. */
export function serverLink(cluster: SimServers, process: SimProcess, random: SeededRandom): ServerLink {
	const call = <T>(server: SimServer, act: () => T): Promise<T> =>
		new Promise((resolve, reject) => {
			const away = (): void => reject(new SpockError('UNAVAILABLE', `${server.name} does not answer`));
			const deadline = process.clock.setTimeout(away, CALL_MS);
			const back = (settle: () => void): void => {
				process.schedule(random.unit() * WAY_MS_MAX, 'server answered', () => {
					if (server.isHidden) return;
					process.clock.clearTimeout(deadline);
					settle();
				});
			};
			process.schedule(random.unit() * WAY_MS_MAX, 'server asked', () => {
				if (server.isHidden) return;
				if (!server.isUp) return back(away);
				try {
					const value = act();
					back(() => resolve(value));
				} catch (error) {
					back(() => reject(error));
				}
			});
		});
	const look = <T>(avoided: number, act: () => T): Promise<T> => {
		const others = [1, 2, 0].map((step) => cluster.servers[(avoided + step) % 3] as SimServer);
		const asked = others.find(({ isUp, isHidden, isApart }) => isUp && !isHidden && !isApart);
		if (asked !== undefined && cluster.hasQuorum) return call(asked, act);
		return call(cluster.servers[avoided] as SimServer, () => {
			throw new SpockError('UNAVAILABLE', 'no leader');
		});
	};
	return {
		places: cluster.servers.map((server) => placeOf(cluster, server, call)),
		catalogue: {
			look: ({ id, owner }, avoided) => look(avoided, () => cluster.sightings(owner).filter((one) => one.id === id)),
			isNodeWell: (node, avoided) =>
				look(avoided, () => cluster.servers.some((one) => one.name === node && one.node === 'well')),
			nodeHost: (node, avoided) =>
				look(avoided, () => {
					const server = cluster.servers.find((one) => one.name === node);
					return server && `10.9.0.${server.number}`;
				}),
			watch: ({ owner }, _avoided, seen) => {
				let before = '';
				const end = cluster.onChange(() => {
					const now: readonly Sighting[] = cluster.sightings(owner);
					const text = JSON.stringify(now);
					if (text === before || !cluster.hasQuorum) return;
					before = text;
					process.schedule(random.unit() * WAY_MS_MAX, 'servers changed', () => seen(now));
				});
				const forget = process.atExit(end);
				return () => {
					end();
					forget();
				};
			},
		},
	};
}

function placeOf(
	cluster: SimServers,
	server: SimServer,
	call: <T>(server: SimServer, act: () => T) => Promise<T>,
): RegistrationPlace {
	const nowMs = (): number => cluster.nowMs;
	return {
		register: (definition, health, terms) =>
			call(server, () => {
				server.disk.set(definition.id, { definition, health, terms, renewedAtMs: nowMs() });
				cluster.changed(server);
				return `${server.name}/${definition.id}`;
			}),
		report: (id, health) =>
			call(server, () => {
				const entry = server.disk.get(id);
				if (entry === undefined) throw new SpockError('NO_SUCH_SERVICE', `${server.name} has no ${id}`);
				server.disk.set(id, { ...entry, health, renewedAtMs: nowMs() });
				cluster.changed(server);
			}),
		deregister: (id) =>
			call(server, () => {
				server.disk.delete(id);
				cluster.changed(server);
			}),
		owned: (owner) =>
			call(server, () =>
				[...server.disk].flatMap(([id, { definition, health, terms }]) =>
					terms.owner === owner
						? [{ definition: { ...definition, isPartial: true }, health, instance: `${server.name}/${id}` }]
						: [],
				),
			),
		maintenanceOf: () => undefined,
		nodeOf: (id) => call(server, () => (server.disk.has(id) ? server.name : undefined)),
	};
}
