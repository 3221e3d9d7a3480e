// @ts-check

/**
 * The environment that tests run in: this one, less the developer's own settings of Sandpipe.
 *
 * @param {NodeJS.ProcessEnv} [additions]
 * @returns {NodeJS.ProcessEnv}
 */
export function testEnvironment(additions = {}) {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("SANDPIPE_"));
  return { ...Object.fromEntries(inherited), ...additions };
}
