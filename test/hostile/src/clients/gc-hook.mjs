// Loaded into the sidecar under test: at SIGUSR2 it collects its garbage and says what is left.
process.on('SIGUSR2', () => {
	globalThis.gc();
	globalThis.gc();
	const { heapUsed, external, rss } = process.memoryUsage();
	process.stderr.write(`collected ${JSON.stringify({ heapBytes: heapUsed + external, rssBytes: rss })}\n`);
});
