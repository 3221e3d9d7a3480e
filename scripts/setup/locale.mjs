// @ts-check
import { ask, mustRun } from "../child-process.mjs";
import { step } from "../progress.mjs";
import { prepareLocales } from "./debian-packages.mjs";
import { RequirementMissing } from "./requirement.mjs";

/**
 * Has this process, and all that it starts, use a locale, such as `de_DE.UTF-8`, which is generated if need be.
 *
 * A locale that was never generated is silently the one of C, so the locale itself is asked what it is.
 *
 * @param {string} name
 */
export async function useLocale(name) {
  const [language = "", charset = ""] = name.split(".");
  Object.assign(process.env, { LC_ALL: name, LANG: name, LANGUAGE: language });
  if (isThere(name)) return;
  await prepareLocales();
  await step(name, () => mustRun("localedef", ["-i", language, "-f", charset, name]));
  if (!isThere(name)) throw new RequirementMissing(`There is no locale ${name} on this machine.`);
}

/** @param {string} name */
function isThere(name) {
  const [language = "", charset = ""] = name.split(".");
  const listed = `${language}.${charset.toLowerCase().replaceAll("-", "")}`;
  const all = ask("locale", ["-a"])?.split("\n") ?? [];
  return all.includes(listed) && ask("locale", ["charmap"]) === charset;
}
