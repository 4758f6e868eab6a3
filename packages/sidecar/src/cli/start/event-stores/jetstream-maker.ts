import { addressesIn, addressesOf, type StoreMaker, tokenIn } from './store-maker.ts';

export const jetStreamMaker: StoreMaker = {
	settings: ['eventsNatsService', 'eventsNatsServers', 'eventsNatsTokenFile', 'eventsNatsReplicas'],
	tokenSetting: 'eventsNatsTokenFile',

	check({ eventsNatsService: service, eventsNatsServers: servers }) {
		if ((service.value === undefined) === (servers.value === undefined)) {
			throw new Error(
				'--events-store jetstream needs --events-nats-service NAME or --events-nats-servers ADDRESSES, not both',
			);
		}
	},

	/** With a watch of its servers: when the connected one leaves, another is used. */
	async make(settings, { source, owner, ends }) {
		const { JetStreamStore } = await import('@spock/events/stores');
		const service = settings.eventsNatsService.value;
		const servers = settings.eventsNatsServers.value ?? [];
		const store = new JetStreamStore({
			owner,
			replicas: settings.eventsNatsReplicas.value,
			servers: async () => (service === undefined ? servers : await addressesOf(source, service)),
			credentials: async () => {
				const token = await tokenIn(settings.eventsNatsTokenFile);
				return token === undefined ? {} : { token };
			},
		});
		if (service !== undefined) {
			// Where there is no snapshot, the connect that needs one fails, and is reported as a failure of the store.
			const watch = source.watch({ service }, { next: (snapshot) => store.serversChanged(addressesIn(snapshot)) });
			ends.push(() => watch.stop());
		}
		return store;
	},
};
