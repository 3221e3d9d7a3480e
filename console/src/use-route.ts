import { useEffect, useState } from "preact/hooks";
import { hashOf, routeOf, type Route } from "./route.js";

/** Goes to a route, as a link would. */
export function goTo(route: Route): void {
  const hash = hashOf(route);
  if (location.hash !== hash) location.hash = hash;
}

/** Has the address name what is shown already. */
export function settleAt(route: Route): void {
  history.replaceState(history.state, "", hashOf(route));
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** The route that the address names. */
export function useRoute(): Route {
  const [route, setRoute] = useState(() => routeOf(location.hash));
  useEffect(() => {
    const read = () => {
      setRoute(routeOf(location.hash));
    };
    addEventListener("hashchange", read);
    return () => {
      removeEventListener("hashchange", read);
    };
  }, []);
  return route;
}
