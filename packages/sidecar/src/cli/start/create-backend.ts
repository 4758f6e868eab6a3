import {
	type Backend,
	consulBackend,
	createLocalBackend,
	type DiscoveryEvent,
	type LocalBackend,
} from '@spock/discovery';
import { type Settings, textOf } from '../settings/setting-values.ts';
import { createBackends, createDnsBackend } from './backend-list.ts';
import { consulOptionsOf } from './consul-options.ts';
import { createReplay } from './create-replay.ts';

/** Where the services come from, as the settings say. Rejects with an Error that names what is wrong with them. */
export function createBackend(
	settings: Settings,
	onEvent: (event: DiscoveryEvent) => void,
): Promise<Backend | LocalBackend> {
	const hasConsul = settings.get('consul')?.origin !== 'default';
	const { value, where = 'the default' } = settings.get('backend') ?? {};
	const names = (value as readonly string[] | undefined) ?? [hasConsul ? 'consul' : 'local'];
	const makers = {
		consul: () => consulBackend({ ...consulOptionsOf(settings, process.env), onEvent }),
		local: () => {
			const file = textOf(settings, 'services');
			return createLocalBackend({ onEvent, ...(file !== undefined && { file }) });
		},
		dns: () => createDnsBackend(settings, onEvent),
		replay: () => createReplay(settings),
	};
	return createBackends({ names, where }, makers, onEvent);
}
